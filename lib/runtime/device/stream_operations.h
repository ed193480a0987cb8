// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a task may do to memory, on whatever its stream runs: the host's threads or a CUDA stream.
// On a CUDA stream every call only enqueues; the caller orders streams through the schedule's
// dependencies.

#include <cstdint>
#include <memory>

#include "kernels/adam.h"
#include "kernels/gradient.h"

namespace elixir::runtime {

class StreamOperations {
 public:
  virtual ~StreamOperations() = default;
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Fills with 0xFF bytes: NaN in every floating dtype.
  virtual void poison(void* memory, std::int64_t bytes) = 0;
  /// `report` is host memory from Device::allocate, set to 1 when something is not finite
  /// (kernels::FoundInfinity).
  virtual void adam(const kernels::AdamArrays& arrays,
                    const kernels::AdamScalars& scalars,
                    std::uint32_t* report) = 0;
  /// `sums` (kernels::norm_blocks(n) of them) is host memory from Device::allocate.
  virtual void sum_squares(
      const void* gradient, kernels::Element type, std::size_t n, float divisor, float* sums) = 0;
  virtual void accumulate(float* sum,
                          const void* gradient,
                          kernels::Element type,
                          std::size_t n,
                          kernels::Accumulate how) = 0;
};

/// On the calling thread and `threads` - 1 helpers. One caller at a time.
[[nodiscard]] std::unique_ptr<StreamOperations> make_host_operations(int threads);

}  // namespace elixir::runtime
