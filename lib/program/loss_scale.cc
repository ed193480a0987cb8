// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/loss_scale.h"

namespace elixir::program {

std::optional<std::string> needs_loss_scale(const Program& program) {
  for (const Parameter& parameter : program.parameters) {
    if (parameter.gradient && parameter.gradient->dtype == DType::kFloat16) {
      return "the gradient of `" + parameter.name + "` is float16";
    }
  }
  for (const Operator& op : program.operators) {
    if (op.phase != Phase::kBackward) continue;
    bool half = false;
    for_each_tensor(op.outputs,
                    [&](const TensorRef& tensor) { half |= tensor.dtype == DType::kFloat16; });
    if (half) return "`" + op.name + "` in backward makes float16 gradients";
  }
  return std::nullopt;
}

}  // namespace elixir::program
