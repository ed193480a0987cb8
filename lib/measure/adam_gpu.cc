// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/adam_gpu.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAStream.h>

#include "core/error.h"
#include "kernels/cuda_kernels.h"
#include "measure/gpu_probe.h"

namespace elixir::measure {

std::vector<double> gpu_adam_seconds(kernels::Element gradient,
                                     std::size_t n,
                                     const Sampling& sampling) {
  const auto count = static_cast<std::int64_t>(n);
  const auto fp32 = at::TensorOptions().device(at::kCUDA).dtype(at::kFloat);
  const bool narrow = gradient != kernels::Element::kFloat32;
  const auto own = fp32.dtype(gradient == kernels::Element::kBFloat16  ? at::kBFloat16
                              : gradient == kernels::Element::kFloat16 ? at::kHalf
                                                                       : at::kFloat);
  at::Tensor master = at::empty({count}, fp32).uniform_(0.1, 1.0);
  at::Tensor moment1 = at::zeros({count}, fp32), moment2 = at::zeros({count}, fp32);
  at::Tensor gradients = at::empty({count}, own).uniform_(0.1, 1.0);
  at::Tensor parameter = at::empty({narrow ? count : 0}, own);
  const kernels::AdamArrays arrays = {master.data_ptr<float>(),
                                      moment1.data_ptr<float>(),
                                      moment2.data_ptr<float>(),
                                      gradients.data_ptr(),
                                      gradient,
                                      narrow ? parameter.data_ptr() : nullptr,
                                      gradient,
                                      n};
  const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, 1, 1, 1.0F);
  std::vector<double> seconds = gpu_work_seconds(
      [&] { kernels::adam_cuda(arrays, scalars, c10::cuda::getCurrentCUDAStream().stream()); },
      sampling);
  require(at::isfinite(master.narrow(0, 0, 1024)).all().item<bool>(),
          "AdamW gave a value that is not finite");
  return seconds;
}

}  // namespace elixir::measure
