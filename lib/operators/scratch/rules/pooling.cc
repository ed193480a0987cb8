// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Source: ATen/native/cuda/DilatedMaxPool2d.cu.
#include "operators/convolution/memory_format.h"
#include "operators/scratch/rules/rules.h"

namespace elixir::operators {
namespace {

/// A copy of what is not one block in the format of the input. That a pooling copies was seen in
/// one recorded model alone, so such calls stay modelled.
void copy_unless_dense(ScriptBuilder& script, const char* name, bool channels_last) {
  const program::TensorRef* tensor = script.tensor(name);
  if (tensor == nullptr || is_dense_in(*tensor, channels_last)) return;
  script.modelled();
  script.temporary(tensor->bytes());
}

void max_pool2d(ScriptBuilder& script) {
  script.outputs();
  const program::TensorRef* input = script.tensor("self");
  if (input != nullptr) copy_unless_dense(script, "self", suggests_channels_last(*input));
}

void max_pool2d_backward(ScriptBuilder& script) {
  max_pool2d(script);
  const program::TensorRef* input = script.tensor("self");
  if (input != nullptr) copy_unless_dense(script, "grad_output", suggests_channels_last(*input));
}

}  // namespace

const std::vector<ScriptRule> kPoolingScripts = {
    {"aten::max_pool2d_with_indices", &max_pool2d},
    {"aten::max_pool2d_with_indices_backward", &max_pool2d_backward},
};

}  // namespace elixir::operators
