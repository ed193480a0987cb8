// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The tensors that are alive at the peak, optimizer state included, largest first. Tensors of one
// size, geometry and kind (the weights of equal layers, what one operator makes in each of them)
// are one entry: a large model has thousands alike.

#include <cstdint>
#include <string>
#include <vector>

#include "memory/timeline.h"
#include "program/program.h"

namespace elixir::report {

struct LiveTensors {
  std::int64_t bytes = 0;  ///< of one, rounded up
  std::int64_t count = 1;
  program::Category category = program::Category::kTemporary;
  std::string tensor;  ///< its geometry
  std::string origin;  ///< of the first: whose it is, or which call made it
};

/// Ties in order of first appearance: storages by id, then optimizer state by parameter.
[[nodiscard]] std::vector<LiveTensors> live_tensors(const program::Program& program,
                                                    const memory::Timeline& timeline,
                                                    const std::string& optimizer);

}  // namespace elixir::report
