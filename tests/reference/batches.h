// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Batches that the reference trainer and the runtime's tests both compute: element i of input k of
// (step, micro-batch) is a function of these numbers alone.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstdint>
#include <string>
#include <vector>

namespace elixir::reference {

struct InputShape {
  c10::ScalarType dtype = c10::kLong;
  std::vector<std::int64_t> sizes;
  std::int64_t range = 2;  ///< integers are in [0, range)
};

inline std::uint64_t scramble(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDU;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53U;
  return x ^ (x >> 33);
}

inline std::vector<at::Tensor> make_batch(const std::vector<InputShape>& inputs,
                                          std::int64_t step,
                                          std::int64_t micro_batch) {
  std::vector<at::Tensor> tensors;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const InputShape& input = inputs[k];
    const bool integers = input.dtype == c10::kLong;
    at::Tensor tensor =
        at::empty(input.sizes, at::TensorOptions().dtype(integers ? c10::kLong : c10::kFloat));
    const auto base = scramble((static_cast<std::uint64_t>(step) << 32) ^
                               (static_cast<std::uint64_t>(micro_batch) << 8) ^ (k + 1));
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      const std::uint64_t bits = scramble(base + static_cast<std::uint64_t>(i));
      if (integers) {
        tensor.data_ptr<std::int64_t>()[i] =
            static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(input.range));
      } else {
        tensor.data_ptr<float>()[i] = static_cast<float>(bits >> 40) / 8388608.0F - 1.0F;
      }
    }
    tensors.push_back(integers ? tensor : tensor.to(input.dtype));
  }
  return tensors;
}

}  // namespace elixir::reference
