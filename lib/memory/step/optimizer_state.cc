// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/optimizer_state.h"

namespace elixir::memory {

using program::DType;
using program::Optimizer;
using program::OptimizerForm;

std::vector<OptimizerTensor> optimizer_state(const program::Program& program,
                                             program::OptimizerUse use) {
  std::vector<OptimizerTensor> state;
  const bool has_moments = use.optimizer == Optimizer::kAdamW || use.optimizer == Optimizer::kAdam;
  if (!has_moments && use.optimizer != Optimizer::kSgdMomentum) return state;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const program::Parameter& parameter = program.parameters[i];
    if (!parameter.gradient) continue;
    const auto add = [&](OptimizerPart part, DType dtype, std::int64_t elements) {
      state.push_back({static_cast<std::int32_t>(i), part, dtype, elements});
    };
    const std::int64_t elements = parameter.tensor.numel();
    DType moments = parameter.tensor.dtype;
    if (!has_moments) {
      add(OptimizerPart::kMomentum, moments, elements);
      continue;
    }
    const bool is_narrow =
        program::element_bytes(moments) < program::element_bytes(DType::kFloat32);
    if (use.form == OptimizerForm::kElixir && is_narrow) {
      moments = DType::kFloat32;
      add(OptimizerPart::kMaster, DType::kFloat32, elements);
    }
    if (use.form == OptimizerForm::kTorchFused) add(OptimizerPart::kStep, DType::kFloat32, 1);
    add(OptimizerPart::kMoment1, moments, elements);
    add(OptimizerPart::kMoment2, moments, elements);
  }
  return state;
}

}  // namespace elixir::memory
