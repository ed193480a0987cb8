// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The budget document (`elixir.budget`): limits for profiles and plans. People write it by hand and
// keep it with a model's code. Limits apply to every document that is checked; `models` changes
// them for documents whose file name matches a glob. Values are numbers in base units, or text with
// a unit ("20GiB", "250ms", "2%"). `require` limits calls by label. `meta` is optional. Any unknown
// key is an error.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/name_table.h"

namespace elixir::check {

/// The quantities that can be limited, in the order of reports.
enum class Quantity : std::uint8_t {
  kPeakAllocated,
  kPeakReserved,
  kProcess,
  kActivations,
  kHost,
  kParameters,
  kStepTime,
  kMeasuredCalls,
  kModelledCalls,
};
inline constexpr std::size_t kQuantityCount = 9;
template <class T>
using ByQuantity = std::array<T, kQuantityCount>;
[[nodiscard]] constexpr std::size_t index_of(Quantity quantity) {
  return static_cast<std::size_t>(quantity);
}

enum class Measure : std::uint8_t { kBytes, kNanoseconds, kCount };

struct QuantityInfo {
  Quantity quantity;
  std::string_view key;    ///< with its unit: "peak_allocated_bytes"; a limit's key is "max_" + key
  std::string_view title;  ///< "peak allocated"
  Measure measure;
};
[[nodiscard]] const ByQuantity<QuantityInfo>& quantities();
[[nodiscard]] const QuantityInfo& info_of(Quantity quantity);
/// Whether the quantity counts labels of calls. They grow with a model, so a limit of every
/// increase leaves them out.
[[nodiscard]] constexpr bool counts_labels(Quantity quantity) {
  return quantity == Quantity::kMeasuredCalls || quantity == Quantity::kModelledCalls;
}

/// How certain the peaks of profiles must be, at least.
enum class Required : std::uint8_t { kExact, kMeasured, kModelled };
inline constexpr NameTable<Required, 3> kRequired{{{Required::kExact, "exact"},
                                                   {Required::kMeasured, "measured"},
                                                   {Required::kModelled, "modelled"}}};

/// Parses text with a unit ("20GiB", "250ms", "1.3B") into base units; nullopt when it is invalid.
[[nodiscard]] std::optional<std::int64_t> parse_value(Measure measure, std::string_view text);
/// Help for a text that parse_value() refuses.
[[nodiscard]] std::string expected_value(Measure measure, std::string_view text);
/// "20.0 GiB", "250 ms", "124,439,808".
[[nodiscard]] std::string format_value(Measure measure, std::int64_t value);

/// Where a limit was set: by a flag, or at a place in a document.
struct Origin {
  std::string flag;  ///< "--max-peak-allocated"; empty for a document
  SourcePos place;
};

struct Limit {
  std::int64_t value = 0;  ///< base units
  Origin origin;
};

/// How much a quantity may grow over its baseline; 0 or more.
struct Increase {
  double percent = 0;
  Origin origin;
};

/// The limits that stand for `required`, from `origin`: 0 calls of the labels that are not certain
/// enough, and no limit for the others.
[[nodiscard]] std::vector<std::pair<Quantity, std::optional<Limit>>> limits_of(
    Required required, const Origin& origin);

/// The older document for comparison.
struct BaselinePath {
  std::string path;  ///< a document, or a directory of documents with the same file names
  Origin origin;
};

/// The rules for one document.
struct Rules {
  ByQuantity<std::optional<Limit>> limits;
  std::optional<BaselinePath> baseline;
  /// For every quantity that both documents have and that is not in `max_increases`.
  std::optional<Increase> max_increase;
  ByQuantity<std::optional<Increase>> max_increases;
  [[nodiscard]] bool limits_increase() const;
  /// Whether there is no limit at all.
  [[nodiscard]] bool empty() const;
};

/// Changes for documents whose file name matches one of `files` (globs: * ? [a-z]). nullopt stands
/// for a null in the document, which removes the limit.
struct ModelRules {
  std::vector<std::string> files;
  std::vector<std::pair<Quantity, std::optional<Limit>>> limits;
  bool lifts_baseline = false;  ///< removes the baseline and all limits of increases
  std::optional<BaselinePath> baseline;
  /// If any of these two is given, they replace all limits of increases.
  std::optional<Increase> max_increase;
  std::vector<std::pair<Quantity, Increase>> max_increases;
  Origin origin;
};

struct Budget {
  Rules rules;
  std::vector<ModelRules> models;  ///< applied in order; the last one wins
};

/// Whether `model` applies to the document's file name (its path without directories).
[[nodiscard]] bool matches(const ModelRules& model, const std::string& path);
/// The rules for the document at `path`.
[[nodiscard]] Rules rules_for(const Budget& budget, const std::string& path);

/// Paths of baselines are relative to the directory of the budget document.
[[nodiscard]] Budget load_budget(const std::string& path);
[[nodiscard]] Budget parse_budget(const JsonDocument& document);

}  // namespace elixir::check
