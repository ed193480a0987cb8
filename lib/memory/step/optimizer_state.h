// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The tensors that an optimizer keeps for each parameter with a gradient, from the second step on.
// adamw and adam keep two moments, sgd-momentum its momentum, rmsprop an average and adagrad a sum
// of squares; adafactor keeps a row and a column of a matrix, and otherwise a variance for each
// element; sgd and none keep nothing. Elixir keeps fp32 moments and an fp32 master for parameters
// narrower than fp32. torch.optim keeps moments in the parameters' dtype and no masters. Its count
// of steps is on the device for the fused form alone (torch/optim/adam.py, PyTorch 2.11).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/name_table.h"
#include "program/program.h"

namespace elixir::memory {

/// The words are PyTorch's.
enum class OptimizerPart : std::uint8_t {
  kMaster,
  kStep,
  kMoment1,
  kMoment2,
  kMomentum,
  kRowVariance,
  kColumnVariance,
  kVariance,
  kSquareAverage,
  kSum,
};
inline constexpr NameTable<OptimizerPart, 10> kOptimizerParts{
    {{OptimizerPart::kMaster, "master"},
     {OptimizerPart::kStep, "step"},
     {OptimizerPart::kMoment1, "exp_avg"},
     {OptimizerPart::kMoment2, "exp_avg_sq"},
     {OptimizerPart::kMomentum, "momentum_buffer"},
     {OptimizerPart::kRowVariance, "row_var"},
     {OptimizerPart::kColumnVariance, "col_var"},
     {OptimizerPart::kVariance, "variance"},
     {OptimizerPart::kSquareAverage, "square_avg"},
     {OptimizerPart::kSum, "sum"}}};
[[nodiscard]] constexpr std::string_view name_of(OptimizerPart part) {
  return kOptimizerParts.name_of(part);
}

/// Whether it is there before the first step, and not made in it.
[[nodiscard]] constexpr bool is_made_before_training(OptimizerPart part) {
  return part == OptimizerPart::kMaster || part == OptimizerPart::kSum;
}

/// The sizes of that part of the state for a parameter of the sizes `parameter`.
[[nodiscard]] program::Ints state_sizes(OptimizerPart part, program::Ints parameter);

struct OptimizerTensor {
  std::int32_t parameter = -1;  ///< position in Program::parameters
  OptimizerPart part = OptimizerPart::kMaster;
  program::DType dtype = program::DType::kFloat32;
  std::int64_t elements = 0;
  [[nodiscard]] std::int64_t bytes() const { return elements * program::element_bytes(dtype); }
};

/// In order of allocation: by parameter, in the order of OptimizerPart.
[[nodiscard]] std::vector<OptimizerTensor> optimizer_state(const program::Program& program,
                                                           program::OptimizerUse use);

}  // namespace elixir::memory
