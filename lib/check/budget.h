// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The budget document (`elixir.budget`): limits that profiles and plans must keep, written by hand
// and kept beside a model's code. Limits hold for every document that is checked; `models` changes
// them for documents whose file name matches a glob. Values are numbers in base units or text with
// a unit ("20GiB", "250ms", "2%"). `meta` is optional; everything else that is unknown is an error.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"

namespace elixir::check {

/// What can be limited, in the order of reports.
enum class Quantity : std::uint8_t {
  kPeakAllocated,
  kPeakReserved,
  kProcess,
  kActivations,
  kHost,
  kParameters,
  kStepTime,
};
inline constexpr std::size_t kQuantityCount = 7;
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

/// Text with a unit into base units ("20GiB", "250ms", "1.3B"); nullopt when it is none.
[[nodiscard]] std::optional<std::int64_t> parse_value(Measure measure, std::string_view text);
/// What to write instead of a text that parse_value() refuses.
[[nodiscard]] std::string expected_value(Measure measure, std::string_view text);
/// "20.0 GiB", "250 ms", "124,439,808".
[[nodiscard]] std::string format_value(Measure measure, std::int64_t value);

/// Who set a limit: a flag, or a place in a document.
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

/// The older document to compare with.
struct BaselinePath {
  std::string path;  ///< a document, or a directory of documents of the same file names
  Origin origin;
};

/// What holds for one document.
struct Rules {
  ByQuantity<std::optional<Limit>> limits;
  std::optional<BaselinePath> baseline;
  /// Of every quantity that both documents have, unless `max_increases` names it.
  std::optional<Increase> max_increase;
  ByQuantity<std::optional<Increase>> max_increases;
  [[nodiscard]] bool limits_increase() const;
  /// Whether anything is limited at all.
  [[nodiscard]] bool empty() const;
};

/// Changes for documents whose file name matches one of `files` (globs: * ? [a-z]). A null in the
/// document lifts what is there: nullopt here.
struct ModelRules {
  std::vector<std::string> files;
  std::vector<std::pair<Quantity, std::optional<Limit>>> limits;
  bool lifts_baseline = false;  ///< no baseline and no limit of an increase
  std::optional<BaselinePath> baseline;
  /// These two replace the limits of increases as a whole, when any is given.
  std::optional<Increase> max_increase;
  std::vector<std::pair<Quantity, Increase>> max_increases;
  Origin origin;
};

struct Budget {
  Rules rules;
  std::vector<ModelRules> models;  ///< applied in order, the last one wins
};

/// Whether the document's file name (its path without directories) is one that `model` is about.
[[nodiscard]] bool matches(const ModelRules& model, const std::string& path);
/// The rules for the document at `path`.
[[nodiscard]] Rules rules_for(const Budget& budget, const std::string& path);

/// Paths of baselines are relative to the directory of the budget document.
[[nodiscard]] Budget load_budget(const std::string& path);
[[nodiscard]] Budget parse_budget(const JsonDocument& document);

}  // namespace elixir::check
