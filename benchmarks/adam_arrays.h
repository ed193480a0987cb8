// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The arrays of adam_benchmark as tensors, on either device. All cases use one set, so that they
// run on the same memory.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>

#include "kernels/adam.h"
#include "kernels/host_arena.h"

namespace elixir::benchmarks {

struct AdamTensors {
  std::shared_ptr<kernels::HostArena> arena;                       ///< of the CPU's
  at::Tensor master, moment1, moment2, gradient32;                 ///< fp32
  at::Tensor gradient, parameter, narrow_moment1, narrow_moment2;  ///< bf16
  at::Tensor lower;                                                ///< int16
  at::Tensor step;                                                 ///< torch's, one fp32

  /// Random values, neither denormal nor special. On the CPU the tensors are in one arena, as in
  /// the trainer.
  AdamTensors(std::size_t n, const at::Device& device);

  [[nodiscard]] kernels::AdamArrays separate() const;      ///< 28 bytes
  [[nodiscard]] kernels::AdamArrays split() const;         ///< 26
  [[nodiscard]] kernels::AdamArrays narrow() const;        ///< separate, bf16 moments: 20
  [[nodiscard]] kernels::AdamArrays narrow_split() const;  ///< 18
  [[nodiscard]] kernels::AdamArrays plain() const;         ///< fp32, the master the parameter: 28

  /// torch's fused AdamW. With casts, it widens the bf16 gradient before, and writes the bf16
  /// parameter after, which is the work of a separate() pass.
  void torch_fused();
  void torch_fused_with_casts();
};

inline constexpr kernels::AdamHyper kHyper = {1e-4, 0.9, 0.95, 1e-8, 0.1};

/// Largest |a - b| / max(|a|, 1e-3) over the tensors.
[[nodiscard]] double largest_difference(const at::Tensor& a, const at::Tensor& b);
[[nodiscard]] bool same_bits(const at::Tensor& a, const at::Tensor& b);

}  // namespace elixir::benchmarks
