// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The tensors that LibTorch's optimizers keep for each parameter with a gradient, from the second
// step on. adamw and adam keep two moments. For parameters narrower than fp32, the moments are fp32
// and there is an fp32 master. sgd (without momentum) and none keep nothing.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/name_table.h"
#include "program/program.h"

namespace elixir::memory {

/// The words are PyTorch's.
enum class OptimizerPart : std::uint8_t { kMaster, kMoment1, kMoment2 };
inline constexpr NameTable<OptimizerPart, 3> kOptimizerParts{
    {{OptimizerPart::kMaster, "master"},
     {OptimizerPart::kMoment1, "exp_avg"},
     {OptimizerPart::kMoment2, "exp_avg_sq"}}};
[[nodiscard]] constexpr std::string_view name_of(OptimizerPart part) {
  return kOptimizerParts.name_of(part);
}

struct OptimizerTensor {
  std::int32_t parameter = -1;  ///< position in Program::parameters
  OptimizerPart part = OptimizerPart::kMaster;
  std::int64_t bytes = 0;  ///< as requested, not rounded
};

/// In order of allocation: by parameter, master first.
[[nodiscard]] std::vector<OptimizerTensor> optimizer_state(const program::Program& program,
                                                           program::Optimizer optimizer);

}  // namespace elixir::memory
