// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/optimizer_state.h"

#include <algorithm>

namespace elixir::memory {

std::vector<OptimizerTensor> optimizer_state(const program::Program& program,
                                             program::Optimizer optimizer) {
  constexpr std::int64_t kFp32Bytes = 4;
  std::vector<OptimizerTensor> state;
  if (optimizer != program::Optimizer::kAdamW && optimizer != program::Optimizer::kAdam)
    return state;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const program::Parameter& parameter = program.parameters[i];
    if (!parameter.gradient) continue;
    const auto position = static_cast<std::int32_t>(i);
    const std::int64_t element_bytes = program::element_bytes(parameter.tensor.dtype);
    const std::int64_t bytes = parameter.tensor.numel() * std::max(element_bytes, kFp32Bytes);
    if (element_bytes < kFp32Bytes) state.push_back({position, OptimizerPart::kMaster, bytes});
    state.push_back({position, OptimizerPart::kMoment1, bytes});
    state.push_back({position, OptimizerPart::kMoment2, bytes});
  }
  return state;
}

}  // namespace elixir::memory
