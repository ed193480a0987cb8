// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/optimizer_state.h"

#include <utility>

namespace elixir::memory {

using program::DType;
using program::Optimizer;
using program::OptimizerForm;

program::Ints state_sizes(OptimizerPart part, program::Ints parameter) {
  const std::size_t rank = parameter.size();
  if (part == OptimizerPart::kStep) return {};
  if (part == OptimizerPart::kRowVariance) parameter.at(rank - 1) = 1;
  if (part == OptimizerPart::kColumnVariance) parameter.at(rank - 2) = 1;
  return parameter;
}

std::vector<OptimizerTensor> optimizer_state(const program::Program& program,
                                             program::OptimizerUse use) {
  std::vector<OptimizerTensor> state;
  const bool has_moments = use.optimizer == Optimizer::kAdamW || use.optimizer == Optimizer::kAdam;
  if (use.optimizer == Optimizer::kSgd || use.optimizer == Optimizer::kNone) return state;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const program::Parameter& parameter = program.parameters[i];
    if (!parameter.gradient) continue;
    const auto add = [&](OptimizerPart part, DType dtype) {
      std::int64_t elements = 1;
      for (const std::int64_t size : state_sizes(part, parameter.tensor.sizes)) elements *= size;
      state.push_back({static_cast<std::int32_t>(i), part, dtype, elements});
    };
    DType moments = parameter.tensor.dtype;
    if (use.optimizer == Optimizer::kSgdMomentum) add(OptimizerPart::kMomentum, moments);
    if (use.optimizer == Optimizer::kRmsprop) add(OptimizerPart::kSquareAverage, moments);
    if (use.optimizer == Optimizer::kAdagrad) add(OptimizerPart::kSum, moments);
    if (use.optimizer == Optimizer::kAdafactor) {
      const bool is_matrix = parameter.tensor.sizes.size() > 1;
      if (is_matrix) add(OptimizerPart::kRowVariance, moments);
      add(is_matrix ? OptimizerPart::kColumnVariance : OptimizerPart::kVariance, moments);
    }
    if (!has_moments) continue;
    const bool is_narrow =
        program::element_bytes(moments) < program::element_bytes(DType::kFloat32);
    if (use.form == OptimizerForm::kElixir && is_narrow) {
      moments = DType::kFloat32;
      add(OptimizerPart::kMaster, DType::kFloat32);
    }
    if (use.form == OptimizerForm::kTorchFused) add(OptimizerPart::kStep, DType::kFloat32);
    add(OptimizerPart::kMoment1, moments);
    add(OptimizerPart::kMoment2, moments);
  }
  return state;
}

}  // namespace elixir::memory
