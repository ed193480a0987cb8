// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// lib/core: what every other area uses: units, errors, JSON with places, files, logging, signals.
//
// Errors are payloads, never text built at the throw site: an Error carries a stable code, a
// message, a place, notes and help; `report/terminal/diagnostic.h` alone renders them and
// `tools/common/run_tool.h` alone maps them to exit codes. Exceptions are for broken input,
// environment and bugs. An answer such as "no plan fits" is a value. Every code has a section in
// docs/errors.md (a test compares the two).

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace elixir {

/// Stable error codes, shown as EXnnnn. The first two digits are the group, and the group fixes the
/// exit code: 01 usage (2), 02 files and documents (2), 03 models and programs (2), 04 plans (2),
/// 05 data (2), 06 environment (3), 07 failed at run time (4), 09 bug in Elixir (70).
enum class ErrorCode : int {
  // 01 usage
  kUnknownFlag = 101,
  kBadFlagValue = 102,
  kMissingArgument = 103,
  kConflictingFlags = 104,
  kUnexpectedArgument = 105,
  kBadAllocatorConfig = 106,
  kRanksContradict = 107,
  kRanksDiffer = 108,
  // 02 files and documents
  kFileNotFound = 201,
  kFileUnreadable = 202,
  kOutputExists = 203,
  kOutputUnwritable = 204,
  kJsonSyntax = 205,
  kJsonType = 206,
  kJsonMissingKey = 207,
  kJsonUnknownKey = 208,
  kJsonBadValue = 209,
  kWrongSchema = 210,
  kBadSafetensors = 211,
  kBadCheckpoint = 212,
  kBadRecordedTrace = 213,
  kRunInUse = 214,
  kMixedRuns = 215,
  // 03 models and programs
  kNotTorchScript = 301,
  kTruncatedArchive = 302,
  kBadInputSpec = 303,
  kModelRejectsInput = 304,
  kMissingKernel = 305,
  kDataDependent = 306,
  kNoScalarLoss = 307,
  kDtypeFixedByGraph = 308,
  kBufferWithoutData = 309,
  kWeightsMismatch = 310,
  kUnsupportedModel = 311,
  kWrongTarget = 312,
  // 04 plans
  kPlanOfAnotherProgram = 401,
  kInconsistentPlan = 402,
  kProfileTargetMismatch = 403,
  // 05 data
  kDataTooShort = 501,
  kTokenOutOfVocabulary = 502,
  kDataMismatch = 503,
  // 06 environment
  kNoGpu = 601,
  kMachineTooSmall = 602,
  kWrongMachineKind = 603,
  kMissingFeature = 604,
  kRanksCannotConnect = 605,
  // 07 failed at run time
  kOutOfMemory = 701,
  kDiskFull = 702,
  kIoError = 703,
  kLossNotFinite = 704,
  kDeviceFailure = 705,
  kNotFinite = 706,
  kRankLost = 707,
  // 09 bugs
  kInternal = 901,
};

/// Where an input is wrong. Empty members are unknown.
struct SourcePos {
  std::string file;
  std::string pointer;      ///< JSON pointer, e.g. /chunks/3/bytes
  std::optional<int> line;  ///< 1-based
  std::optional<long long> byte_offset;
};

struct ErrorInfo {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  ///< lowercase start, no final period
  std::optional<SourcePos> where;
  std::vector<std::string> notes;  ///< facts
  std::vector<std::string> help;   ///< what is right, or what to do
};

/// The exit code for `code`: 2, 3, 4 or 70.
[[nodiscard]] int exit_code_of(ErrorCode code);
/// The code as text: "EX0203".
[[nodiscard]] std::string code_text(ErrorCode code);

/// The exception that all libraries throw. A message or a help text is either plain text or an fmt
/// format string with its values:
///
///     throw Error(ErrorCode::kNoGpu, "there is no GPU to measure: {}", reason)
///         .help("measure the CPU device: --device cpu");
class Error : public std::exception {
 public:
  explicit Error(ErrorInfo info);
  Error(ErrorCode code, std::string message);
  Error(ErrorCode code, SourcePos where, std::string message);

  template <typename... Values>
  requires(sizeof...(Values) > 0)
      Error(ErrorCode code, fmt::format_string<Values...> message, Values&&... values)
      : Error(code, fmt::vformat(message, fmt::make_format_args(values...))) {}
  template <typename... Values>
  requires(sizeof...(Values) > 0) Error(ErrorCode code,
                                        SourcePos where,
                                        fmt::format_string<Values...> message,
                                        Values&&... values)
      : Error(code, std::move(where), fmt::vformat(message, fmt::make_format_args(values...))) {}

  /// Adds a fact. A catch block may add facts too, and rethrow.
  Error& note(std::string text);
  /// Adds what is right, or what to do.
  Error& help(std::string text);
  Error& help(std::vector<std::string> texts);
  template <typename... Values>
  requires(sizeof...(Values) > 0) Error& note(fmt::format_string<Values...> text,
                                              Values&&... values) {
    return note(fmt::vformat(text, fmt::make_format_args(values...)));
  }
  template <typename... Values>
  requires(sizeof...(Values) > 0) Error& help(fmt::format_string<Values...> text,
                                              Values&&... values) {
    return help(fmt::vformat(text, fmt::make_format_args(values...)));
  }

  [[nodiscard]] const ErrorInfo& info() const { return info_; }
  [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

 private:
  ErrorInfo info_;
  std::string what_;
};

/// Checks an invariant of Elixir. Throws kInternal with `message` when `condition` is false.
void require(bool condition, std::string_view message);

/// The entries of `candidates` within Levenshtein distance 2 of `word`, nearest first, at most
/// three.
[[nodiscard]] std::vector<std::string> nearest(std::string_view word,
                                               const std::vector<std::string>& candidates);

/// "`a`, `b`, `c`".
[[nodiscard]] std::string join_quoted(const std::vector<std::string>& words);

}  // namespace elixir
