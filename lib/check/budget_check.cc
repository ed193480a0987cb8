// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "check/budget_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "check/culprits.h"

namespace elixir::check {
namespace {

using Kind = CheckedDocument::Kind;

/// The kind of document that has this quantity, if the other kind does not.
std::optional<Kind> only_kind_with(Quantity quantity) {
  switch (quantity) {
    case Quantity::kActivations:
    case Quantity::kParameters:
    case Quantity::kMeasuredCalls:
    case Quantity::kModelledCalls:
      return Kind::kProfile;
    case Quantity::kHost:
    case Quantity::kStepTime:
      return Kind::kPlan;
    case Quantity::kPeakAllocated:
    case Quantity::kPeakReserved:
    case Quantity::kProcess:
      break;
  }
  return std::nullopt;
}

/// The largest value that an increase of `percent` allows, rounded down.
std::int64_t allowed(std::int64_t baseline, double percent) {
  const long double most =
      static_cast<long double>(baseline) +
      std::floor(static_cast<long double>(baseline) * static_cast<long double>(percent) / 100.0L);
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  if (most >= static_cast<long double>(kLargest)) return kLargest;
  return static_cast<std::int64_t>(most);
}

/// Hostile plans may exceed 64 bits, so sums stop at the largest number.
std::int64_t bounded_sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}
std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

class Checker {
 public:
  Checker(const std::vector<Subject>& subjects, const Subject& subject)
      : subjects_(subjects), subject_(subject), document_(subject.document) {}

  FileReport run() {
    FileReport file;
    file.path = document_.path;
    file.kind = document_.kind;
    file.target = document_.target;
    file.certainty = document_.certainty;
    if (subject_.baseline) file.baseline_path = subject_.baseline->path;
    for (const QuantityInfo& info : quantities()) {
      const auto& limit = subject_.rules.limits[index_of(info.quantity)];
      if (limit) file.checks.push_back(against_limit(info.quantity, *limit));
    }
    for (const QuantityInfo& info : quantities()) {
      if (auto increase = against_baseline(info.quantity)) {
        file.checks.push_back(std::move(*increase));
      }
    }
    std::vector<Quantity> over;
    for (const Check& check : file.checks) {
      if (check.verdict == Verdict::kOver) over.push_back(check.quantity);
    }
    file.culprits =
        find_culprits(document_, subject_.baseline ? &*subject_.baseline : nullptr, over);
    return file;
  }

 private:
  [[nodiscard]] std::optional<std::int64_t> value_of(Quantity quantity) const {
    return document_.values[index_of(quantity)];
  }

  [[nodiscard]] bool answered_elsewhere(Quantity quantity) const {
    const auto kind = only_kind_with(quantity);
    if (!kind || *kind == document_.kind) return false;
    return std::any_of(subjects_.begin(), subjects_.end(), [&](const Subject& other) {
      return other.document.kind == *kind && other.document.fingerprint == document_.fingerprint &&
             other.rules.limits[index_of(quantity)];
    });
  }

  [[nodiscard]] std::string why_not_known(Quantity quantity) const {
    const QuantityInfo& info = info_of(quantity);
    const auto kind = only_kind_with(quantity);
    if (kind && *kind != document_.kind) {
      return fmt::format("a {} has no {}; check a {} of the same program with it",
                         name_of(document_.kind),
                         info.title,
                         name_of(*kind));
    }
    if (document_.kind == Kind::kPlan) return fmt::format("a plan has no {}", info.title);
    if (counts_labels(quantity)) return why_no_certainty(document_.target);
    return fmt::format("the profile for target {} has no {}", document_.target, info.title);
  }

  [[nodiscard]] Check against_limit(Quantity quantity, const Limit& limit) const {
    Check check;
    check.quantity = quantity;
    check.value = value_of(quantity);
    check.limit = limit.value;
    check.origin = limit.origin;
    if (check.value) {
      check.verdict = *check.value > limit.value ? Verdict::kOver : Verdict::kWithin;
    } else if (answered_elsewhere(quantity)) {
      check.verdict = Verdict::kWaived;
      check.reason =
          fmt::format("a {} of the same program answers it",
                      name_of(document_.kind == Kind::kPlan ? Kind::kProfile : Kind::kPlan));
    } else {
      check.verdict = Verdict::kNotKnown;
      check.reason = why_not_known(quantity);
    }
    return check;
  }

  /// nullopt when nothing limits the increase: there is no rule, or the rule is for every quantity
  /// and the baseline lacks this one.
  [[nodiscard]] std::optional<Check> against_baseline(Quantity quantity) const {
    const std::optional<Increase>& own = subject_.rules.max_increases[index_of(quantity)];
    const std::optional<Increase>& increase = own ? own : subject_.rules.max_increase;
    if (!increase) return std::nullopt;
    if (!own && counts_labels(quantity)) return std::nullopt;
    Check check;
    check.quantity = quantity;
    check.value = value_of(quantity);
    check.max_increase_percent = increase->percent;
    check.origin = increase->origin;
    if (!subject_.baseline) {
      // Report this only once for all quantities.
      if (!own && quantity != Quantity::kPeakAllocated) return std::nullopt;
      check.verdict = Verdict::kWaived;
      check.reason = "there is no baseline of it";
      return check;
    }
    check.baseline_value = subject_.baseline->values[index_of(quantity)];
    if (!check.baseline_value && !own) return std::nullopt;
    if (!check.baseline_value || !check.value) {
      check.verdict = Verdict::kNotKnown;
      check.reason = check.value ? fmt::format("the baseline has no {}", info_of(quantity).title)
                                 : why_not_known(quantity);
      return check;
    }
    check.limit = allowed(*check.baseline_value, increase->percent);
    check.verdict = *check.value > *check.limit ? Verdict::kOver : Verdict::kWithin;
    return check;
  }

  const std::vector<Subject>& subjects_;
  const Subject& subject_;
  const CheckedDocument& document_;
};

}  // namespace

std::string why_no_certainty(std::string_view target) {
  if (target.starts_with("cpu")) {
    return "peaks on a CPU count tensors alone; what kernels take beside them is not predicted";
  }
  return "the profile does not say how certain its peaks are; make it again with elixir-profile";
}

std::string_view name_of(CheckedDocument::Kind kind) {
  return kind == Kind::kProfile ? "profile" : "plan";
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWithin:
      return "within";
    case Verdict::kOver:
      return "over";
    case Verdict::kNotKnown:
      return "not_known";
    case Verdict::kWaived:
      return "waived";
  }
  return "";
}

CheckedDocument checked_document(std::string path, const program::Profile& profile) {
  CheckedDocument document;
  document.kind = Kind::kProfile;
  document.path = std::move(path);
  document.attribution = memory::attribute(profile);
  document.fingerprint = document.attribution->fingerprint;
  document.target = document.attribution->target;
  const auto set = [&document](Quantity quantity, std::optional<std::int64_t> value) {
    document.values[index_of(quantity)] = value;
  };
  set(Quantity::kPeakAllocated, profile.memory.peak_allocated_bytes);
  set(Quantity::kPeakReserved, profile.memory.peak_reserved_bytes);
  set(Quantity::kProcess, profile.memory.process_peak_bytes);
  set(Quantity::kActivations, profile.memory.activations_peak_bytes);
  set(Quantity::kParameters, profile.program.parameter_count());
  if (profile.memory.certainty) {
    document.certainty = profile.memory.certainty;
    set(Quantity::kMeasuredCalls, document.certainty->measured_calls);
    set(Quantity::kModelledCalls, document.certainty->modelled_calls);
  }
  return document;
}

CheckedDocument checked_document(std::string path, const plan::Plan& plan) {
  CheckedDocument document;
  document.kind = Kind::kPlan;
  document.path = std::move(path);
  if (!plan.programs.empty()) document.fingerprint = plan.programs.front().fingerprint;
  const program::Target target{
      .kind = plan.hardware.device_kind, .sm = plan.hardware.sm, .isa = plan.hardware.isa};
  document.target = target.text();
  const auto set = [&document](Quantity quantity, std::int64_t value) {
    document.values[index_of(quantity)] = value;
  };
  set(Quantity::kPeakAllocated, plan.predicted.peak_allocated_bytes);
  set(Quantity::kHost, plan.predicted.host_bytes);
  set(Quantity::kStepTime, plan.predicted.step_ns);
  std::int64_t at_home = 0;
  for (const plan::Chunk& chunk : plan.chunks) {
    if (chunk.parameter_home != plan::Home::kDevice) continue;
    at_home = bounded_sum(at_home, plan::shard_bytes(plan, chunk, chunk.dtype));
  }
  const std::int64_t cached = bounded_product(plan.cache.blocks, plan.cache.block_bytes);
  const std::int64_t rest =
      std::max<std::int64_t>(plan.predicted.peak_allocated_bytes - bounded_sum(at_home, cached), 0);
  document.memory_parts = {{"parameters with home on the device", at_home},
                           {"cache blocks", cached},
                           {"everything else", rest}};
  for (const plan::StreamTime& stream : plan.predicted.streams) {
    document.streams.push_back({stream.stream, stream.busy_ns});
  }
  return document;
}

std::int64_t Check::overshoot() const {
  return verdict == Verdict::kOver ? *value - *limit : 0;
}

std::optional<double> Check::overshoot_percent() const {
  if (verdict != Verdict::kOver || *limit == 0) return std::nullopt;
  return 100.0 * static_cast<double>(overshoot()) / static_cast<double>(*limit);
}

std::string Check::key() const {
  const std::string_view quantity_key = info_of(quantity).key;
  return is_increase() ? fmt::format("max_increase_percent/{}", quantity_key)
                       : fmt::format("max_{}", quantity_key);
}

bool FileReport::failed() const {
  return std::any_of(
      checks.begin(), checks.end(), [](const Check& check) { return check.failed(); });
}

CheckReport check_documents(const std::vector<Subject>& subjects) {
  CheckReport report;
  for (const Subject& subject : subjects) {
    FileReport file = Checker(subjects, subject).run();
    for (const Check& check : file.checks) {
      if (check.failed()) {
        ++report.failed;
      } else if (check.verdict == Verdict::kWaived) {
        ++report.waived;
      } else {
        ++report.within;
      }
    }
    report.files.push_back(std::move(file));
  }
  return report;
}

}  // namespace elixir::check
