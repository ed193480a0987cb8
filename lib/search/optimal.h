// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Elixir's own search: the fastest plan by simulated time in a family of plans, and the smallest
// budgets for which the family has a plan.
//
// The family: parameters used by one call stay together. These groups, in order of first use, are
// packed at several chunk sizes. Each chunk has one of three states: resident (everything on the
// device), streamed optimizer (parameters on the device, gradients and optimizer state on the host)
// or streamed (everything on the host, parameters through the cache). The chunks used first are
// resident, the next ones have a streamed optimizer, the rest are streamed. A chunk much larger
// than the others never goes through the cache if a block of its size would cost more than keeping
// its parameters on the device. The number of cache blocks varies from the fewest that work to the
// number of chunks. The limit for gradients that wait for their copy to the host takes several
// values.

#include <cstdint>
#include <optional>
#include <vector>

#include "search/placements.h"
#include "search/problem.h"

namespace elixir::search {

/// The smallest amount of one memory that the family needs, given a limit for the other; nullopt
/// when no amount is enough.
struct Minima {
  std::optional<std::int64_t> gpu_memory_bytes;   ///< under the host budget
  std::optional<std::int64_t> host_memory_bytes;  ///< under the GPU budget
  std::int64_t gpu_memory_bytes_any_host = 0;     ///< with unlimited host memory
  std::int64_t dynamic_bytes = 0;                 ///< the part that grows with the batch
  schedule::MemoryPeak least_peak;                ///< of the plan of gpu_memory_bytes_any_host
};
[[nodiscard]] Minima find_minima(const PlacementSpace& space);

/// The member of the family that needs the least device memory, whether it fits or not.
[[nodiscard]] Evaluated smallest_plan(const PlacementSpace& space);

struct BestPlans {
  std::vector<Evaluated> plans;  ///< plans that fit, fastest first; may be empty
  std::int64_t candidates = 0;   ///< number of plans evaluated
};
/// By the problem's budgets and guesses as they are now.
[[nodiscard]] BestPlans best_plans(const PlacementSpace& space);

}  // namespace elixir::search
