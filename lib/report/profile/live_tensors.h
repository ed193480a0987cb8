// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What is alive at the peak, largest total first: tensors, optimizer state, scratch memory. Tensors
// with the same geometry and kind (weights of equal layers, or results of one operator in each of
// them) are one entry, because a large model has thousands of them. All entries add up to the peak.

#include <cstdint>
#include <string>
#include <vector>

#include "memory/step/timeline.h"
#include "program/program.h"
#include "report/profile/layers.h"

namespace elixir::report {

struct LiveTensors {
  std::int64_t bytes = 0;  ///< of the largest block: equal tensors may have different blocks
  std::int64_t count = 0;
  std::int64_t together_bytes = 0;
  Layer layer;
  std::string tensor;  ///< its geometry; empty for scratch memory
  std::string origin;  ///< of the first tensor: its owner, or the call that made it
};

/// Ties are in order of first appearance: storages by id, then optimizer state by parameter, then
/// scratch memory. `timeline` must be that of a TrainingStep of `program`.
[[nodiscard]] std::vector<LiveTensors> live_tensors(const program::Program& program,
                                                    const memory::Timeline& timeline);

}  // namespace elixir::report
