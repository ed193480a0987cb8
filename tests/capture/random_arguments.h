// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Random tensors for tests of operators: sizes, layouts in memory and dtypes, drawn from a seed.

#include <cstdint>
#include <random>
#include <vector>

#include <ATen/core/Tensor.h>

#include "capture/record/arguments/values.h"

namespace elixir::capture {

/// Where tensors are made, and how large they may be.
struct RandomSpace {
  c10::Device device = c10::kCPU;
  /// 0: sizes as the generators name them, which are tiny. Otherwise, the product of sizes that are
  /// drawn together is at most this, and equally often of each order of magnitude.
  std::int64_t most_elements = 0;
};

class Random {
 public:
  explicit Random(std::uint64_t seed, RandomSpace space = {}) : engine_(seed), space_(space) {}

  [[nodiscard]] const RandomSpace& space() const { return space_; }

  /// In [low, high].
  std::int64_t number(std::int64_t low, std::int64_t high);
  bool coin() { return number(0, 1) == 1; }
  template <class T>
  T one_of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(
        number(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

  /// `count` sizes in [1, high], sometimes 1. A space with large tensors ignores the default.
  Sizes sizes(std::int64_t count, std::int64_t high = kTiny);
  /// A random number of sizes, from `fewest` to `most`.
  Sizes any_sizes(std::int64_t fewest, std::int64_t most, std::int64_t high = kTiny);
  at::ScalarType floating();   ///< fp32 half of the time, else fp64, bf16 or fp16
  at::ScalarType any_dtype();  ///< integers and bool too

  /// Values in (0, 1), or small integers, in a random layout: contiguous, channels last, permuted,
  /// with gaps, or (when `overlapping`) expanded.
  at::Tensor tensor(const Sizes& sizes, at::ScalarType dtype, bool overlapping = true);
  /// Contiguous.
  at::Tensor plain(const Sizes& sizes, at::ScalarType dtype);
  /// A weight, a bias or the like. Contiguous on the CPU, whose kernels read such operands as one
  /// block. On a GPU in any layout: some kernels copy them.
  at::Tensor operand(const Sizes& sizes, at::ScalarType dtype);
  /// Integers in [0, below). On a GPU in any layout.
  at::Tensor indices(const Sizes& sizes, std::int64_t below, at::ScalarType dtype = at::kLong);

 private:
  static constexpr std::int64_t kTiny = 5;

  Sizes sizes_of_any_magnitude(std::int64_t count);
  at::Tensor laid_out(const at::Tensor& contiguous, bool overlapping);

  std::mt19937_64 engine_;
  RandomSpace space_;
};

}  // namespace elixir::capture
