// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/error.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error_code.h"

namespace elixir {
namespace {

std::string what_text(const ErrorInfo& info) {
  std::string text = code_text(info.code) + ": " + info.message;
  if (info.where) {
    text += fmt::format(
        " ({}{}{}", info.where->file, info.where->pointer.empty() ? "" : ": ", info.where->pointer);
    if (info.where->line) text += fmt::format(", line {}", *info.where->line);
    if (info.where->byte_offset) text += fmt::format(", byte {}", *info.where->byte_offset);
    text += ')';
  }
  return text;
}

std::size_t levenshtein(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

int exit_code_of(ErrorCode code) {
  switch (static_cast<int>(code) / 100) {
    case 6:
      return 3;
    case 7:
      return 4;
    case 9:
      return 70;
    default:
      return 2;
  }
}

// A switch, so that a compiler misses a new code here.
std::optional<ErrorCode> error_code_of(int number) {
  const auto code = static_cast<ErrorCode>(number);
  switch (code) {
    case ErrorCode::kUnknownFlag:
    case ErrorCode::kBadFlagValue:
    case ErrorCode::kMissingArgument:
    case ErrorCode::kConflictingFlags:
    case ErrorCode::kUnexpectedArgument:
    case ErrorCode::kBadAllocatorConfig:
    case ErrorCode::kRanksContradict:
    case ErrorCode::kRanksDiffer:
    case ErrorCode::kFileNotFound:
    case ErrorCode::kFileUnreadable:
    case ErrorCode::kOutputExists:
    case ErrorCode::kOutputUnwritable:
    case ErrorCode::kJsonSyntax:
    case ErrorCode::kJsonType:
    case ErrorCode::kJsonMissingKey:
    case ErrorCode::kJsonUnknownKey:
    case ErrorCode::kJsonBadValue:
    case ErrorCode::kWrongSchema:
    case ErrorCode::kBadSafetensors:
    case ErrorCode::kBadCheckpoint:
    case ErrorCode::kBadRecordedTrace:
    case ErrorCode::kRunInUse:
    case ErrorCode::kMixedRuns:
    case ErrorCode::kNotTorchScript:
    case ErrorCode::kTruncatedArchive:
    case ErrorCode::kBadInputSpec:
    case ErrorCode::kModelRejectsInput:
    case ErrorCode::kMissingKernel:
    case ErrorCode::kDataDependent:
    case ErrorCode::kNoScalarLoss:
    case ErrorCode::kDtypeFixedByGraph:
    case ErrorCode::kBufferWithoutData:
    case ErrorCode::kWeightsMismatch:
    case ErrorCode::kUnsupportedModel:
    case ErrorCode::kWrongTarget:
    case ErrorCode::kPlanOfAnotherProgram:
    case ErrorCode::kInconsistentPlan:
    case ErrorCode::kProfileTargetMismatch:
    case ErrorCode::kDataTooShort:
    case ErrorCode::kTokenOutOfVocabulary:
    case ErrorCode::kDataMismatch:
    case ErrorCode::kNoGpu:
    case ErrorCode::kMachineTooSmall:
    case ErrorCode::kWrongMachineKind:
    case ErrorCode::kMissingFeature:
    case ErrorCode::kRanksCannotConnect:
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kDiskFull:
    case ErrorCode::kIoError:
    case ErrorCode::kLossNotFinite:
    case ErrorCode::kDeviceFailure:
    case ErrorCode::kNotFinite:
    case ErrorCode::kRankLost:
    case ErrorCode::kInternal:
      return code;
  }
  return std::nullopt;
}

std::string code_text(ErrorCode code) {
  return fmt::format("EX{:04}", static_cast<int>(code));
}

Error::Error(ErrorInfo info) : info_(std::move(info)), what_(what_text(info_)) {}

Error::Error(ErrorCode code, std::string message)
    : Error(ErrorInfo{code, std::move(message), std::nullopt, {}, {}}) {}

Error::Error(ErrorCode code, SourcePos where, std::string message)
    : Error(ErrorInfo{code, std::move(message), std::move(where), {}, {}}) {}

Error& Error::note(std::string text) {
  info_.notes.push_back(std::move(text));
  return *this;
}

Error& Error::help(std::string text) {
  info_.help.push_back(std::move(text));
  return *this;
}

Error& Error::help(std::vector<std::string> texts) {
  for (std::string& text : texts) help(std::move(text));
  return *this;
}

void require(bool condition, std::string_view message) {
  if (!condition) throw Error(ErrorCode::kInternal, std::string(message));
}

std::vector<std::string> nearest(std::string_view word,
                                 const std::vector<std::string>& candidates) {
  constexpr std::size_t kMaxDistance = 2;
  constexpr std::size_t kMaxSuggestions = 3;
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    if (longer - std::min(word.size(), candidate.size()) > kMaxDistance) continue;
    const std::size_t distance = levenshtein(word, candidate);
    // Words whose letters would all be replaced are not similar, so short words need a closer
    // match.
    if (distance <= kMaxDistance && distance < std::min(word.size(), candidate.size())) {
      found.emplace_back(distance, candidate);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<std::string> result;
  for (auto& item : found) {
    if (result.size() == kMaxSuggestions) break;
    result.push_back(std::move(item.second));
  }
  return result;
}

std::string join_quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ", ";
    text += "`" + word + "`";
  }
  return text;
}

}  // namespace elixir
