// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Source: ATen/native/cuda/Reduce.cuh, ReduceMomentKernel.cu, ReduceSumProdKernel.cu, NLLLoss2d.cu.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "operators/scratch/rules/rules.h"

namespace elixir::operators {
namespace {

/// The dtype in which the kernel reads the input: the result's, except that sums of half precision
/// in fp32 need no copy. Source: ReduceOpsUtils.h, make_reduction_from_out_ty.
program::DType dtype_of_reduction(program::DType input, program::DType result) {
  const bool half = input == program::DType::kFloat16 || input == program::DType::kBFloat16;
  return half && result == program::DType::kFloat32 ? input : result;
}

/// An input of another dtype than the kernel's is copied.
void reduce(ScriptBuilder& script, const std::vector<std::int64_t>& dimensions) {
  script.outputs();
  const auto* input = script.tensor("self");
  const auto* result = first_output(script.op());
  if (input == nullptr || result == nullptr) return;
  if (program::is_complex(input->dtype) || program::is_complex(result->dtype)) {
    script.modelled();  // never recorded
  }
  program::TensorRef read = *input;
  if (const program::DType dtype = dtype_of_reduction(input->dtype, result->dtype);
      dtype != input->dtype) {
    constexpr std::size_t kImageRank = 4;  // the copy may have its channels last
    if (!is_one_block(*input) && input->sizes.size() >= kImageRank) script.modelled();
    read = converted(*input, dtype);
    script.temporary(read.bytes());
  }
  script.reduce(read, dimensions, result->dtype);
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
  script.modelled_beyond_32_bits();
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
