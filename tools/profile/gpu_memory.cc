// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/profile/gpu_memory.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"

namespace elixir::tools {

namespace {

/// "8.65 GiB (exact)"; without a label where there is none.
std::string labelled(std::int64_t bytes, const std::optional<program::Basis>& basis) {
  return basis ? fmt::format("{} ({})", format_bytes(bytes), program::name_of(*basis))
               : format_bytes(bytes);
}

Json label_or_null(const std::optional<program::Basis>& basis) {
  return basis ? Json(program::name_of(*basis)) : Json(nullptr);
}

}  // namespace

LargestBatchAnswer find_largest_batch(Steps& steps,
                                      std::int64_t limit_bytes,
                                      const std::function<void(std::int64_t batch)>& progress) {
  LargestBatchAnswer answer;
  if (steps.known_peaks().empty()) {
    answer.unknown_because = "the first input has no dimension for a batch";
    return answer;
  }
  // Starts from the largest batch known to fit, or else from the smallest known one.
  std::int64_t first = steps.known_peaks().begin()->first;
  for (const auto& [batch, peak] : steps.known_peaks()) {
    if (peak.bytes <= limit_bytes) first = batch;
  }
  if (first < 1) {
    answer.unknown_because = "the first input is empty";
    return answer;
  }
  try {
    answer.found = memory::largest_batch(
        first, std::max(first, kMostBatch), limit_bytes, [&](std::int64_t batch) {
          if (steps.known_peaks().count(batch) == 0) progress(batch);
          return steps.peak_at(batch);
        });
    const memory::BatchPeak peak = steps.peak_at(std::max<std::int64_t>(answer.found->batch, 1));
    answer.basis = peak.basis;
    answer.may_be_off_bytes = peak.may_be_off_bytes;
  } catch (const Error& error) {
    if (error.info().code != ErrorCode::kModelRejectsInput) throw;
    answer.unknown_because = "the model rejects other batch sizes: " + error.info().message;
  }
  return answer;
}

std::string fit_text(const memory::KnownPeak& peak, std::int64_t limit_bytes) {
  const std::int64_t margin = limit_bytes - peak.bytes;
  const std::string what =
      fmt::format("peak {} {}", memory::name_of(peak.kind), labelled(peak.bytes, peak.basis));
  std::string text =
      margin >= 0
          ? fmt::format(
                "fits {}: {} leaves {}", format_bytes(limit_bytes), what, format_bytes(margin))
          : fmt::format("does not fit {}: {} is {} too much",
                        format_bytes(limit_bytes),
                        what,
                        format_bytes(-margin));
  if (peak.basis == program::Basis::kModelled) {
    text += fmt::format("\n  it is modelled: {}", program::off_text(peak.may_be_off_bytes));
  }
  if (peak.kind != memory::PeakKind::kProcess) {
    text += fmt::format("\n  {} memory is a lower bound: the process takes more",
                        memory::name_of(peak.kind));
  }
  return text + "\n";
}

std::string largest_text(const LargestBatchAnswer& answer) {
  if (!answer.found) {
    return fmt::format("largest batch: not known ({})\n", answer.unknown_because);
  }
  const memory::LargestBatch& found = *answer.found;
  if (found.batch == 0) {
    return fmt::format("largest batch: none; a batch of 1 takes {}\n{}",
                       labelled(found.bytes, answer.basis),
                       memory::claim_of(found));
  }
  const std::string label =
      answer.basis ? fmt::format(", {}", program::name_of(*answer.basis)) : "";
  return fmt::format("largest batch: {} ({}{}; {})\n{}",
                     format_count(found.batch),
                     format_bytes(found.bytes),
                     label,
                     found.next_bytes ? fmt::format("{} would take {}",
                                                    format_count(found.batch + 1),
                                                    format_bytes(*found.next_bytes))
                                      : std::string("no larger one was tried"),
                     memory::claim_of(found));
}

Json to_json(const memory::KnownPeak& peak,
             std::optional<std::int64_t> batch,
             std::int64_t limit_bytes,
             const LargestBatchAnswer& answer) {
  Json largest;
  if (answer.found) {
    largest = {{"batch", answer.found->batch},
               {"peak_bytes", answer.found->bytes},
               {"certainty", label_or_null(answer.basis)},
               {"may_be_off_bytes", value_or_null(answer.may_be_off_bytes)},
               {"next_peak_bytes",
                answer.found->next_bytes ? Json(*answer.found->next_bytes) : Json(nullptr)},
               {"ceiling", answer.found->ceiling},
               {"untried", answer.found->untried}};
  }
  return {{"limit_bytes", limit_bytes},
          {"compared", memory::name_of(peak.kind)},
          {"batch", value_or_null(batch)},
          {"peak_bytes", peak.bytes},
          {"certainty", label_or_null(peak.basis)},
          {"may_be_off_bytes", value_or_null(peak.may_be_off_bytes)},
          {"fits", peak.bytes <= limit_bytes},
          {"margin_bytes", limit_bytes - peak.bytes},
          {"largest_batch", std::move(largest)}};
}

}  // namespace elixir::tools
