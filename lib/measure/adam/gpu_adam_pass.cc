// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>

#include "core/error.h"
#include "kernels/cuda_kernels.h"
#include "measure/adam/adam_pass.h"
#include "measure/machine/gpu_probe.h"

namespace elixir::measure {
namespace {

using kernels::Element;

at::ScalarType type_of(Element element) {
  switch (element) {
    case Element::kBFloat16:
      return at::kBFloat16;
    case Element::kFloat16:
      return at::kHalf;
    case Element::kFloat32:
      break;
  }
  return at::kFloat;
}

}  // namespace

std::vector<double> gpu_adam_seconds(const AdamPass& pass,
                                     std::size_t parameters,
                                     const Bench& bench) {
  constexpr double kLeast = 0.1;
  constexpr std::int64_t kChecked = 1024;
  const auto count = static_cast<std::int64_t>(parameters);
  const auto on_gpu = at::TensorOptions().device(at::kCUDA);
  const bool narrow = pass.gradient != Element::kFloat32;
  const auto own = on_gpu.dtype(type_of(pass.gradient));
  const auto of_moments = on_gpu.dtype(type_of(pass.moments));
  at::Tensor moment1 = at::zeros({count}, of_moments), moment2 = at::zeros({count}, of_moments);
  at::Tensor gradients = at::empty({count}, own).uniform_(kLeast, 1.0);
  // With a lower half of zero, a split master equals its parameter.
  at::Tensor parameter = at::empty({narrow ? count : 0}, own).uniform_(kLeast, 1.0);
  at::Tensor master = at::empty({pass.split ? 0 : count}, on_gpu.dtype(at::kFloat));
  master.uniform_(kLeast, 1.0);
  at::Tensor lower = at::zeros({pass.split ? count : 0}, on_gpu.dtype(at::kShort));
  const kernels::AdamArrays arrays = {pass.split ? nullptr : master.data_ptr<float>(),
                                      moment1.data_ptr(),
                                      moment2.data_ptr(),
                                      gradients.data_ptr(),
                                      pass.gradient,
                                      narrow ? parameter.data_ptr() : nullptr,
                                      pass.gradient,
                                      parameters,
                                      pass.moments,
                                      pass.split ? lower.data_ptr<std::int16_t>() : nullptr};
  const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, 1, 1, 1.0F);
  std::vector<double> seconds = gpu_work_seconds(
      [&] { kernels::adam_cuda(arrays, scalars, c10::cuda::getCurrentCUDAStream().stream()); },
      bench.sampling());
  const at::Tensor& written = pass.split ? parameter : master;
  require(at::isfinite(written.narrow(0, 0, std::min(kChecked, count))).all().item<bool>(),
          "AdamW gave a value that is not finite");
  return seconds;
}

}  // namespace elixir::measure
