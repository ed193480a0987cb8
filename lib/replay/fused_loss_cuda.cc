// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The operators of fused_loss.cc on the GPU. Targets are not checked beforehand, which would make
// the host wait: one that is no class makes the loss NaN, and the trainer stops at that.
#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

#include "kernels/cuda_kernels.h"
#include "replay/fused_loss_arguments.h"

namespace elixir::replay {
namespace {

LossResults forward_on_cuda(const at::Tensor& logits,
                            const at::Tensor& target,
                            const std::optional<at::Tensor>& weight,
                            std::int64_t reduction,
                            std::int64_t ignore_index,
                            double label_smoothing,
                            at::ScalarType dtype) {
  const c10::cuda::CUDAGuard guard(logits.device());
  const kernels::CrossEntropyRows rows =
      rows_of(logits, target, weight, reduction, ignore_index, label_smoothing, c10::kCUDA);
  auto [loss, total_weight, statistics] = loss_results(logits, reduction, dtype);
  kernels::cross_entropy_cuda(rows,
                              statistics.mutable_data_ptr<float>(),
                              loss.mutable_data_ptr(),
                              element_of(dtype),
                              total_weight.mutable_data_ptr<float>(),
                              at::cuda::getCurrentCUDAStream());
  return {loss, total_weight, statistics};
}

at::Tensor& backward_on_cuda(at::Tensor& logits,
                             const at::Tensor& gradient,
                             const at::Tensor& target,
                             const std::optional<at::Tensor>& weight,
                             std::int64_t reduction,
                             std::int64_t ignore_index,
                             double label_smoothing,
                             const at::Tensor& total_weight,
                             const at::Tensor& statistics) {
  const c10::cuda::CUDAGuard guard(logits.device());
  const kernels::CrossEntropyRows rows =
      rows_of(logits, target, weight, reduction, ignore_index, label_smoothing, c10::kCUDA);
  const kernels::LossGradients gradients =
      check_backward(rows, logits, gradient, total_weight, statistics);
  kernels::cross_entropy_gradient_cuda(rows,
                                       statistics.const_data_ptr<float>(),
                                       gradients,
                                       total_weight.const_data_ptr<float>(),
                                       at::cuda::getCurrentCUDAStream());
  return logits;
}

TORCH_LIBRARY_IMPL(elixir, CUDA, library) {
  library.impl("cross_entropy", &forward_on_cuda);
  library.impl("cross_entropy_backward_", &backward_on_cuda);
}

}  // namespace
}  // namespace elixir::replay
