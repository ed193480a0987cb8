// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Random tensors for tests of geometry: sizes, layouts in memory and dtypes, drawn from a seed.

#include <cstdint>
#include <random>
#include <vector>

#include <ATen/core/Tensor.h>

#include "capture/record/arguments/values.h"

namespace elixir::capture {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// In [low, high].
  std::int64_t number(std::int64_t low, std::int64_t high);
  bool coin() { return number(0, 1) == 1; }
  template <class T>
  T one_of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(
        number(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

  /// `count` sizes in [1, high], sometimes 1.
  Sizes sizes(std::int64_t count, std::int64_t high = 5);
  /// A random number of sizes, from `fewest` to `most`.
  Sizes any_sizes(std::int64_t fewest, std::int64_t most, std::int64_t high = 5);
  at::ScalarType floating();   ///< fp32 half of the time, else fp64, bf16 or fp16
  at::ScalarType any_dtype();  ///< integers and bool too

  /// Values in (0, 1), or small integers, in a random layout: contiguous, channels last, permuted,
  /// with gaps, or (when `overlapping`) expanded.
  at::Tensor tensor(const Sizes& sizes, at::ScalarType dtype, bool overlapping = true);
  /// Contiguous.
  at::Tensor plain(const Sizes& sizes, at::ScalarType dtype);
  /// Integers in [0, below).
  at::Tensor indices(const Sizes& sizes, std::int64_t below, at::ScalarType dtype = at::kLong);

 private:
  at::Tensor laid_out(const at::Tensor& contiguous, bool overlapping);

  std::mt19937_64 engine_;
};

}  // namespace elixir::capture
