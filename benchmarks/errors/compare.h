// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The errors of a whole model's loss and gradients against fp64: those of LibTorch's eager autograd
// in the model's own dtype, and those of the program that plans of arithmetic `fused` run.
//
// All three start from the same weights and inputs, which fp64 holds exactly. A model with dropout
// draws other numbers in each: export it with dropout 0.

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "errors/squared_errors.h"
#include "plan/plan.h"

namespace elixir::errors {

/// Which products are aligned (edit/aligned_products.h).
enum class Align : std::uint8_t {
  kWorthIt,     ///< as plans do: on a GPU, large unaligned ones of 16 bits
  kEverything,  ///< all that can be, on the CPU too: to see what aligning does to errors
};

struct Options {
  c10::Device device = c10::kCPU;
  plan::Arithmetic arithmetic = plan::Arithmetic::kFused;  ///< not as eager
  Align align = Align::kWorthIt;
  int batches = 8;
  std::int64_t seed = 1;     ///< of the inputs: batch i is drawn with seed + i
  std::int64_t range = 256;  ///< integer inputs are uniform in [0, range), others normal
};

struct Comparison {
  SquaredErrors loss;
  std::vector<SquaredErrors> gradients;  ///< in the program's order of parameters
  int fused_losses = 0, aligned_products = 0, fused_groups = 0;
};

/// Throws what capture::capture() and ReplayCall throw, and std::runtime_error for a module that
/// cannot be compared.
[[nodiscard]] Comparison compare(const std::string& path, const Options& options);

/// The gradients of all parameters as if they were one tensor.
[[nodiscard]] SquaredErrors all_gradients(const Comparison& comparison);

}  // namespace elixir::errors
