// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Checks of arguments that rules and choices share. A model's arguments may have any value, so a
// rule must check what it indexes, divides or multiplies. The messages are LibTorch's.

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "capture/record/arguments/values.h"

namespace elixir::capture {

inline void check_dim(const at::Tensor& tensor, std::int64_t dimensions, const char* what) {
  TORCH_CHECK(tensor.dim() == dimensions,
              what,
              ": expected a tensor with ",
              dimensions,
              " dimensions, but got one with sizes ",
              tensor.sizes());
}

inline void check_at_least(const at::Tensor& tensor, std::int64_t dimensions, const char* what) {
  TORCH_CHECK(tensor.dim() >= dimensions,
              what,
              ": expected a tensor with at least ",
              dimensions,
              " dimensions, but got one with sizes ",
              tensor.sizes());
}

/// What a kernel says that reads a tensor as numbers of another dtype.
inline void check_dtype(const at::Tensor& tensor, at::ScalarType expected) {
  TORCH_CHECK(!tensor.defined() || tensor.scalar_type() == expected,
              "expected scalar type ",
              expected,
              " but found ",
              tensor.scalar_type());
}

inline void check_count(std::size_t count, std::size_t expected, const char* what) {
  TORCH_CHECK(count == expected, what, " should have ", expected, " elements, but has ", count);
}

inline void check_all_positive(at::IntArrayRef values, const char* what) {
  for (const std::int64_t value : values) {
    TORCH_CHECK(value > 0, what, " should be greater than zero, but got ", values);
  }
}

inline void check_none_negative(at::IntArrayRef values, const char* what) {
  for (const std::int64_t value : values) {
    TORCH_CHECK(value >= 0, "negative ", what, " is not supported, but got ", values);
  }
}

/// The product of numbers that a model chose. Throws c10::Error on overflow.
[[nodiscard]] inline std::int64_t product_of(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t result = 0;
  TORCH_CHECK(!__builtin_mul_overflow(a, b, &result), what, ": ", a, " times ", b, " overflows");
  return result;
}
[[nodiscard]] inline std::int64_t sum_of(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t result = 0;
  TORCH_CHECK(!__builtin_add_overflow(a, b, &result), what, ": ", a, " plus ", b, " overflows");
  return result;
}

}  // namespace elixir::capture
