// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One table of CPU kernels per instruction set. Each is filled in its own translation unit,
// compiled with that set's flags, from the same templates (kernel_body.h). All kernels run on the
// calling thread.

#include <cstddef>
#include <cstdint>

#include "kernels/adam.h"
#include "kernels/cross_entropy.h"
#include "kernels/gradient.h"
#include "kernels/random.h"

namespace elixir::kernels {

struct KernelTable {
  /// `report` as in FoundInfinity.
  void (*adam)(const AdamArrays& arrays, const AdamScalars& scalars, std::uint32_t* report);
  void (*adam_streams)(const AdamArrays& arrays);
  /// The sum of squares of one block of at most kNormBlockElements elements.
  float (*sum_squares_block)(const void* gradient, Element type, std::size_t n, float divisor);
  bool (*all_finite)(const void* values, Element type, std::size_t n);
  void (*accumulate)(float* sum, const void* gradient, Element type, std::size_t n, Accumulate how);
  void (*convert)(void* out, Element type, const float* in, std::size_t n);
  void (*split)(const float* master, std::uint16_t* upper, std::int16_t* lower, std::size_t n);
  void (*join)(const std::uint16_t* upper, const std::int16_t* lower, float* master, std::size_t n);
  /// Writes elements `first`, a multiple of kRandomBlockElements, to `first` + n into `out`.
  void (*fill_random)(void* out,
                      Element type,
                      std::size_t first,
                      std::size_t n,
                      const Distribution& what,
                      std::uint64_t key);
  SoftmaxSum (*softmax_sum)(const void* logits, Element type, std::size_t n);
  /// The gradient of one row in place of its logits; `log_sum` is log(sum e^(x - largest)).
  void (*softmax_gradient)(void* logits,
                           Element type,
                           std::size_t n,
                           std::size_t target,
                           float largest,
                           float log_sum,
                           float scale);
  /// sum_j w_j * (largest - x_j); without weights each is 1.
  float (*sum_below)(
      const void* logits, Element type, std::size_t n, float largest, const float* weights);
  /// As softmax_gradient, with smoothed labels.
  void (*smoothed_gradient)(void* logits,
                            Element type,
                            std::size_t n,
                            std::size_t target,
                            float largest,
                            float log_sum,
                            const SmoothedGradient& gradient,
                            const float* weights);
};

extern const KernelTable kScalarKernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;

[[nodiscard]] const KernelTable& kernel_table(Isa isa);

}  // namespace elixir::kernels
