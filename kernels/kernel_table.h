// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One table of CPU kernels per instruction set. Each is filled in a translation unit of its own,
// compiled with that set's flags, from the same templates (kernel_body.h). Everything here runs on
// the calling thread.

#include <cstddef>

#include "kernels/adam.h"
#include "kernels/gradient.h"

namespace elixir::kernels {

struct KernelTable {
  void (*adam)(const AdamArrays& arrays, const AdamScalars& scalars);
  /// Sum of squares of one block of at most kNormBlockElements elements.
  float (*sum_squares_block)(const void* gradient, Element type, std::size_t n, float divisor);
  void (*accumulate)(float* sum, const void* gradient, Element type, std::size_t n, Accumulate how);
  void (*convert)(void* out, Element type, const float* in, std::size_t n);
};

extern const KernelTable kScalarKernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;

[[nodiscard]] const KernelTable& kernel_table(Isa isa);

}  // namespace elixir::kernels
