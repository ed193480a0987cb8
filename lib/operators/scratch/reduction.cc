// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Source: ATen/native/cuda/Reduce.cuh, ReduceMomentKernel.cu, ReduceSumProdKernel.cu, NLLLoss2d.cu.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "operators/scratch/reduction_scratch.h"
#include "operators/scratch/rules.h"

namespace elixir::operators {
namespace {

/// Sums and means accumulate in fp32, integers in int64, fp64 in fp64.
std::int64_t accumulator_bytes(program::DType dtype) {
  constexpr std::int64_t kFloatBytes = 4;
  constexpr std::int64_t kLongBytes = 8;
  if (!program::is_floating(dtype)) return kLongBytes;
  return std::max(kFloatBytes, program::element_bytes(dtype));
}

void reduce(ScriptBuilder& script, const std::vector<std::int64_t>& dimensions) {
  script.outputs();
  const auto* input = script.tensor("self");
  if (input == nullptr) return;
  const ReductionScratch scratch =
      reduction_scratch(*input, dimensions, accumulator_bytes(input->dtype), script.traits());
  script.temporary(scratch.buffer_bytes);
  script.temporary(scratch.semaphores_bytes);
}

/// Sums and means, over some dimensions or over everything.
void sum(ScriptBuilder& script) {
  const program::Arguments& call = script.arguments();
  reduce(script, call.have("dim") ? call.integers("dim") : program::Ints{});
}

/// The sum of the weights is allocated before the loss. Tensors that are not contiguous are copied,
/// which was never recorded.
void nll_loss2d_forward(ScriptBuilder& script) {
  bool contiguous = true;
  program::for_each_tensor(script.op().arguments, [&contiguous](const program::TensorRef& tensor) {
    contiguous = contiguous && is_contiguous(tensor);
  });
  if (!contiguous) script.modelled();
  script.output(1);
  script.output(0);
}

}  // namespace

const std::vector<ScriptRule> kReductionScripts = {
    {"aten::sum", &sum},
    {"aten::mean", &sum},
    {"aten::nll_loss2d_forward", &nll_loss2d_forward},
};

}  // namespace elixir::operators
