// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Elementwise operators with a number that convert their input before the kernel runs, because the
// number decides the dtype of the result. Source: the structured `clamp`, `clamp_max`, `clamp_min`
// (ATen/native/TensorCompare.cpp) and `pow` (Pow.cpp), which `square` calls (UnaryOps.cpp). In
// place they refuse such inputs.
#include "operators/scratch/rules/rules.h"

namespace elixir::operators {
namespace {

bool has_number(const program::Operator& op) {
  return op.overload.empty() || op.overload == "Tensor_Scalar";
}

/// Bounds and exponents that are tensors are inputs of the kernel.
bool has_tensors(const program::Operator& op) {
  return op.overload == "Tensor" || op.overload == "Tensor_Tensor";
}

void convert_input(ScriptBuilder& script) {
  const program::TensorRef* result = first_output(script.op());
  const program::TensorRef* input = nullptr;
  bool complex = false;
  bool array_on_host = false;
  program::for_each_tensor(script.op().arguments, [&](const program::TensorRef& tensor) {
    if (input == nullptr) input = &tensor;
    complex = complex || program::is_complex(tensor.dtype);
    array_on_host = array_on_host || (script.is_on_host(tensor) && !tensor.sizes.empty());
  });
  if (input == nullptr || result == nullptr) return script.modelled();
  if (!has_number(script.op()) && !has_tensors(script.op())) script.modelled();
  if (complex || array_on_host || program::is_complex(result->dtype)) script.modelled();
  if (!has_number(script.op()) || input->dtype == result->dtype) return;
  script.temporary(converted(*input, result->dtype).bytes());
}

}  // namespace

const std::vector<ScriptRule> kConversionScripts = {
    {"aten::clamp", &convert_input},
    {"aten::clamp_max", &convert_input},
    {"aten::clamp_min", &convert_input},
    {"aten::pow", &convert_input},
    {"aten::square", &convert_input},
};

}  // namespace elixir::operators
