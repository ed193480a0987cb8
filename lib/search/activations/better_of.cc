// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/activations/better_of.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"

namespace elixir::search {
namespace {

Candidate summary_of(const Found& found) {
  const Recomputation& activations = found.recomputation;
  const std::string offload =
      activations.offloaded_bytes == 0
          ? ""
          : fmt::format(", offload {}", format_bytes(activations.offloaded_bytes));
  return {.description = fmt::format(
              "recompute {}{}: {}", edit::name_of(activations.choice), offload, found.description),
          .step_ns = found.plan.predicted.step_ns,
          .peak_bytes = found.plan.predicted.peak_allocated_bytes,
          .host_bytes = found.plan.predicted.host_bytes};
}

/// The faster one, with the other among its runners-up. Equal ones: the first, which recomputes
/// less.
Found better_of(Found first, Found second) {
  const std::int64_t candidates = first.candidates + second.candidates;
  if (second.plan.predicted.step_ns < first.plan.predicted.step_ns) std::swap(first, second);
  first.candidates = candidates;
  // A plan in which recomputing changes nothing that is shown is the same plan.
  if (second.plan.predicted.step_ns == first.plan.predicted.step_ns &&
      second.gpu_memory_bytes == first.gpu_memory_bytes &&
      second.plan.predicted.host_bytes == first.plan.predicted.host_bytes) {
    return first;
  }
  first.runners_up.push_back(summary_of(second));
  std::stable_sort(first.runners_up.begin(),
                   first.runners_up.end(),
                   [](const Candidate& a, const Candidate& b) { return a.step_ns < b.step_ns; });
  return first;
}

/// The one that lacks less, with the least GPU memory of both.
Infeasible better_of(Infeasible first, Infeasible second) {
  if (second.shortfall_bytes < first.shortfall_bytes) std::swap(first, second);
  const auto minimum = [](const Infeasible& no) {
    return std::make_pair(no.minimum_needs_more_host, no.minimum_gpu_memory_bytes);
  };
  if (minimum(second) < minimum(first)) {
    first.minimum_needs_more_host = second.minimum_needs_more_host;
    first.minimum_gpu_memory_bytes = second.minimum_gpu_memory_bytes;
    // If host memory is short, the last remedy is more GPU memory.
    const bool both_of_host = first.binding_limit == BindingLimit::kHostMemory &&
                              second.binding_limit == BindingLimit::kHostMemory;
    if (both_of_host && first.remedies.size() > 1 && second.remedies.size() > 1) {
      first.remedies.back() = second.remedies.back();
    }
  }
  return first;
}

}  // namespace

Outcome better_of(Outcome first, Outcome second) {
  auto* found = std::get_if<Found>(&first);
  auto* other = std::get_if<Found>(&second);
  if (found != nullptr && other != nullptr) return better_of(std::move(*found), std::move(*other));
  if (found != nullptr) return first;
  if (other != nullptr) return second;
  return better_of(std::get<Infeasible>(std::move(first)), std::get<Infeasible>(std::move(second)));
}

}  // namespace elixir::search
