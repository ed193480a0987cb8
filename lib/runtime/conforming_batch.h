// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A batch as a program requires it.

#include <cstddef>

#include "program/program.h"
#include "runtime/step_report.h"

namespace elixir::runtime {

/// `batch` with the layout of the program's inputs: what has other strides is copied. Throws
/// kDataMismatch when it does not have `micro_batches` parts with the program's first `inputs`
/// inputs each, or when a tensor has another shape or dtype or is not on the CPU.
[[nodiscard]] MicroBatches conforming(const MicroBatches& batch,
                                      const program::Program& program,
                                      std::size_t inputs,
                                      std::size_t micro_batches);

}  // namespace elixir::runtime
