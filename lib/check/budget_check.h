// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Checks profiles and plans against a budget. Every limit of every document gives one verdict, and
// a document over a limit gets a list of culprits. The results are plain values, which lib/report
// shows. An unknown value of a limited quantity is a failure, never a pass.

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

/// Part of a plan, by name: bytes of its device peak, or the time of one of its streams.
struct PlanPart {
  std::string name;
  std::int64_t value = 0;
};

/// A profile or a plan, reduced to what checks need.
struct CheckedDocument {
  enum class Kind : std::uint8_t { kProfile, kPlan } kind = Kind::kProfile;
  std::string path;
  std::string fingerprint;  ///< of the program, or of the program that a plan trains
  std::string target;       ///< "cpu", "cuda:sm_90"
  ByQuantity<std::optional<std::int64_t>> values;
  std::optional<memory::Attribution> attribution;  ///< of a profile
  std::optional<program::Certainty> certainty;     ///< of a profile; nullopt: it does not say
  std::vector<PlanPart> memory_parts, streams;     ///< of a plan
};
[[nodiscard]] CheckedDocument checked_document(std::string path, const program::Profile& profile);
[[nodiscard]] CheckedDocument checked_document(std::string path, const plan::Plan& plan);
/// "profile" or "plan".
[[nodiscard]] std::string_view name_of(CheckedDocument::Kind kind);

/// Why a profile for this target has no label: it is for a CPU, or an older version wrote it.
[[nodiscard]] std::string why_no_certainty(std::string_view target);

struct Subject {
  CheckedDocument document;
  Rules rules;
  std::optional<CheckedDocument> baseline;
};

/// kWaived: this kind of document does not have the value, and another document of the same
/// program, checked in the same run, does.
enum class Verdict : std::uint8_t { kWithin, kOver, kNotKnown, kWaived };
/// "within", "over", "not_known", "waived".
[[nodiscard]] std::string_view name_of(Verdict verdict);

struct Check {
  Quantity quantity{};
  Verdict verdict = Verdict::kWithin;
  std::optional<std::int64_t> value, limit;    ///< base units; nullopt: unknown
  std::optional<double> max_increase_percent;  ///< for a limit relative to the baseline
  std::optional<std::int64_t> baseline_value;
  Origin origin;
  std::string reason;  ///< why it is unknown or waived
  [[nodiscard]] bool failed() const {
    return verdict == Verdict::kOver || verdict == Verdict::kNotKnown;
  }
  [[nodiscard]] bool is_increase() const { return max_increase_percent.has_value(); }
  /// By how much the value exceeds the limit; 0 unless kOver.
  [[nodiscard]] std::int64_t overshoot() const;
  /// Same in percent of the limit; nullopt when the limit is 0 or not exceeded.
  [[nodiscard]] std::optional<double> overshoot_percent() const;
  /// The limit's key: "max_peak_allocated_bytes" or "max_increase_percent/peak_allocated_bytes".
  [[nodiscard]] std::string key() const;
};

/// A module, an operator in a module, or a stream, with its value now and in the baseline. Equal
/// culprits whose names differ only in numbers (the layers of a model) are one entry.
struct Culprit {
  std::string name;        ///< "h.0.mlp", or "h.*.mlp" for several
  int count = 1;           ///< number of equal ones
  std::int64_t value = 0;  ///< total over all of them; so is `before`
  std::optional<std::int64_t> before;
};

/// The culprits for a quantity over its limit, largest first, then by name.
struct Culprits {
  std::string what;  ///< "modules", "operators", "parts", "streams"
  Measure measure = Measure::kBytes;
  std::string share;   ///< which share: "at the peak", "activations made", …
  bool grown = false;  ///< sorted by growth over the baseline, not by size
  std::vector<Culprit> entries;
  bool shrunk = false;  ///< what shrank most since the baseline; follows the list of what grew
};

struct FileReport {
  std::string path;
  CheckedDocument::Kind kind = CheckedDocument::Kind::kProfile;
  std::string target;
  std::string baseline_path;                    ///< empty without a baseline
  std::optional<program::Certainty> certainty;  ///< as in CheckedDocument
  std::vector<Check> checks;
  std::vector<Culprits> culprits;  ///< of exceeded limits
  [[nodiscard]] bool failed() const;
};

struct CheckReport {
  std::vector<FileReport> files;
  int within = 0, failed = 0, waived = 0;  ///< numbers of checks
};

[[nodiscard]] CheckReport check_documents(const std::vector<Subject>& subjects);

}  // namespace elixir::check
