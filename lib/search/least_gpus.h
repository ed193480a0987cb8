// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How many GPUs a program needs.

#include <vector>

#include "hardware/hardware_profile.h"
#include "program/program.h"
#include "search/search.h"

namespace elixir::search {

struct TooFewGpus {
  int gpus = 1;
  Infeasible why;
};

struct LeastGpus {
  std::vector<TooFewGpus> fewer;  ///< numbers that were tried before, ascending
  int gpus = 1;
  Outcome outcome;  ///< the outcome with `gpus`; Infeasible: with the most that may be used
};

/// Tries 1, 2, 4, 8, … up to `request.gpus`. Throws what search() throws.
[[nodiscard]] LeastGpus least_gpus(const program::Program& program,
                                   const hardware::HardwareProfile& hardware,
                                   const Request& request);

}  // namespace elixir::search
