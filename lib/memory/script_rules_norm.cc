// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// ATen/native/cuda/group_norm_kernel.cu, layer_norm_kernel.cu.
#include <cstddef>
#include <cstdint>

#include "memory/script_rules.h"

namespace elixir::memory {
namespace {

constexpr std::int64_t kFloatBytes = 4;

/// Copies what is not contiguous first.
void native_layer_norm(ScriptBuilder& script) {
  if (const auto* input = script.tensor(0); input != nullptr && !is_contiguous(*input)) {
    script.temporary(input->bytes());
  }
}

void native_layer_norm_backward(ScriptBuilder& script) {
  for (const std::size_t position : {std::size_t{1}, std::size_t{0}}) {
    const auto* tensor = script.tensor(position);
    if (tensor != nullptr && !is_contiguous(*tensor)) script.temporary(tensor->bytes());
  }
}

/// Scale and shift of every sample's channel in fp32.
void native_group_norm(ScriptBuilder& script) {
  script.outputs();
  const std::int64_t samples = script.integer(3, 0);
  const std::int64_t channels = script.integer(4, 0);
  if (script.tensor(1) == nullptr && script.tensor(2) == nullptr) return;
  script.temporary(samples * channels * kFloatBytes);
  script.temporary(samples * channels * kFloatBytes);
}

/// Sums of every channel, and three coefficients: two of every group, one of every channel.
void native_group_norm_backward(ScriptBuilder& script) {
  script.outputs();
  const std::int64_t samples = script.integer(5, 0);
  const std::int64_t channels = script.integer(6, 0);
  const std::int64_t groups = script.integer(8, 0);
  script.temporary(samples * channels * kFloatBytes);
  script.temporary(samples * channels * kFloatBytes);
  script.temporary(samples * groups * kFloatBytes);
  script.temporary(samples * groups * kFloatBytes);
  script.temporary(samples * channels * kFloatBytes);
}

}  // namespace

const std::vector<ScriptRule> kNormScripts = {
    {"aten::native_layer_norm", &native_layer_norm},
    {"aten::native_layer_norm_backward", &native_layer_norm_backward},
    {"aten::native_group_norm", &native_group_norm},
    {"aten::native_group_norm_backward", &native_group_norm_backward},
};

}  // namespace elixir::memory
