// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The search of our own: the fastest plan by simulated time in a family of plans, and the smallest
// budgets at which the family has any.
//
// The family: parameters used by one call stay together; those groups, in order of first use, are
// packed at several chunk sizes. Each chunk is in one of three states: resident (everything on the
// device), streamed optimizer (parameters on the device, gradients and optimizer state on the host)
// or streamed (everything on the host, parameters through the cache). Chunks used first are the
// resident ones, the next have a streamed optimizer, the rest are streamed; a chunk much larger
// than the others never goes through the cache when a block of its size would cost more than
// keeping its parameters on the device. The cache has between the fewest blocks that work and as
// many as chunks, and gradients on their way to the host may pile up to several amounts.

#include <cstdint>
#include <optional>
#include <vector>

#include "search/problem.h"

namespace elixir::search {

/// The least that the family needs of one memory under a limit of the other; nullopt when no amount
/// is enough.
struct Minima {
  std::optional<std::int64_t> gpu_memory_bytes;   ///< under the host budget
  std::optional<std::int64_t> host_memory_bytes;  ///< under the GPU budget
  std::int64_t gpu_memory_bytes_any_host = 0;     ///< with as much host memory as it takes
  std::int64_t dynamic_bytes = 0;                 ///< part that grows with the batch
  schedule::MemoryPeak least_peak;                ///< of the plan of gpu_memory_bytes_any_host
};
[[nodiscard]] Minima find_minima(const Problem& problem);

/// The member of the family that needs least of the device, whether it fits or not.
[[nodiscard]] Evaluated smallest_plan(const Problem& problem);

struct BestPlans {
  std::vector<Evaluated> plans;  ///< that fit, fastest first; empty when none does
  std::int64_t candidates = 0;   ///< evaluated
};
[[nodiscard]] BestPlans best_plans(const Problem& problem);

}  // namespace elixir::search
