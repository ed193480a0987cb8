// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Profiles and plans held against a budget: every limit of every document gives one verdict, and a
// document that is over says who is responsible. Pure values: lib/report shows them. A limited
// quantity that nobody knows is a failure, never a pass.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/budget.h"
#include "memory/analysis/attribution.h"
#include "plan/plan.h"
#include "program/document.h"

namespace elixir::check {

/// Bytes of a plan's device peak, or time of one of its streams, by name.
struct PlanPart {
  std::string name;
  std::int64_t value = 0;
};

/// A profile or a plan, reduced to what checks need.
struct CheckedDocument {
  enum class Kind : std::uint8_t { kProfile, kPlan } kind = Kind::kProfile;
  std::string path;
  std::string fingerprint;  ///< of the program; of a plan, of the one it trains
  std::string target;       ///< "cpu", "cuda:sm_90"
  ByQuantity<std::optional<std::int64_t>> values;
  std::optional<memory::Attribution> attribution;  ///< of a profile
  std::vector<PlanPart> memory_parts, streams;     ///< of a plan
};
[[nodiscard]] CheckedDocument checked_document(std::string path, const program::Profile& profile);
[[nodiscard]] CheckedDocument checked_document(std::string path, const plan::Plan& plan);
/// "profile" or "plan".
[[nodiscard]] std::string_view name_of(CheckedDocument::Kind kind);

struct Subject {
  CheckedDocument document;
  Rules rules;
  std::optional<CheckedDocument> baseline;
};

/// kWaived: the limit cannot be told from this kind of document, and another one of the same
/// program, checked in the same run, answers it.
enum class Verdict : std::uint8_t { kWithin, kOver, kNotKnown, kWaived };
/// "within", "over", "not_known", "waived".
[[nodiscard]] std::string_view name_of(Verdict verdict);

struct Check {
  Quantity quantity{};
  Verdict verdict = Verdict::kWithin;
  std::optional<std::int64_t> value, limit;    ///< base units; nullopt where not known
  std::optional<double> max_increase_percent;  ///< of a limit over the baseline
  std::optional<std::int64_t> baseline_value;
  Origin origin;
  std::string reason;  ///< why it is not known or waived
  [[nodiscard]] bool failed() const {
    return verdict == Verdict::kOver || verdict == Verdict::kNotKnown;
  }
  [[nodiscard]] bool is_increase() const { return max_increase_percent.has_value(); }
  /// How far the value is over the limit; 0 unless kOver.
  [[nodiscard]] std::int64_t overshoot() const;
  /// The same in percent of the limit; nullopt when the limit is 0 or nothing is over.
  [[nodiscard]] std::optional<double> overshoot_percent() const;
  /// "max_peak_allocated_bytes" or "max_increase_percent/peak_allocated_bytes": the limit's key.
  [[nodiscard]] std::string key() const;
};

/// A module, an operator in a module, a stream: what it takes now and took in the baseline. Equal
/// ones whose names differ in numbers alone (the layers of a model) are one.
struct Culprit {
  std::string name;        ///< "h.0.mlp", or "h.*.mlp" for several
  int count = 1;           ///< how many they are
  std::int64_t value = 0;  ///< of all of them together, as `before`
  std::optional<std::int64_t> before;
};

/// Who is responsible for a quantity that is over, largest first, ties by name.
struct Culprits {
  std::string what;  ///< "modules", "operators", "parts", "streams"
  Measure measure = Measure::kBytes;
  std::string share;   ///< of what: "at the peak", "activations made", …
  bool grown = false;  ///< largest growth over the baseline instead of largest
  std::vector<Culprit> entries;
  bool shrunk = false;  ///< who shrank most since the baseline, after the list of who grew
};

struct FileReport {
  std::string path;
  CheckedDocument::Kind kind = CheckedDocument::Kind::kProfile;
  std::string target;
  std::string baseline_path;  ///< empty without
  std::vector<Check> checks;
  std::vector<Culprits> culprits;  ///< of what is over
  [[nodiscard]] bool failed() const;
};

struct CheckReport {
  std::vector<FileReport> files;
  int within = 0, failed = 0, waived = 0;  ///< checks
};

[[nodiscard]] CheckReport check_documents(const std::vector<Subject>& subjects);

}  // namespace elixir::check
