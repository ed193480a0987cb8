// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "adam_arrays.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include "adam_cases.h"

namespace elixir::benchmarks {
namespace {

using kernels::AdamArrays;
using kernels::Element;

constexpr std::size_t kAlignmentBytes = 256;  // same as the runtime's
constexpr std::size_t kMostTensors = 16;

std::size_t count(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel());
}

}  // namespace

AdamTensors::AdamTensors(std::size_t n, const at::Device& device) {
  const auto elements = static_cast<std::int64_t>(n);
  const auto fp32 = at::TensorOptions().device(device).dtype(at::kFloat);
  const auto bf16 = fp32.dtype(at::kBFloat16);
  if (device.is_cpu()) {
    arena = std::make_shared<kernels::HostArena>(n * kSuiteBytesPerParameter +
                                                 kMostTensors * kAlignmentBytes);
  }
  const auto tensor = [&](const at::TensorOptions& options) {
    if (!arena) return at::empty({elements}, options);
    const std::size_t bytes = n * options.dtype().itemsize();
    return at::from_blob(arena->carve(bytes, kAlignmentBytes), {elements}, options);
  };
  master = tensor(fp32).uniform_(-1.0, 1.0);
  moment1 = tensor(fp32).uniform_(-1e-2, 1e-2);
  moment2 = tensor(fp32).uniform_(1e-5, 1e-4);
  gradient32 = tensor(fp32).uniform_(-1e-2, 1e-2);
  gradient = tensor(bf16).copy_(gradient32);
  gradient32.copy_(gradient);  // both have the same values
  parameter = tensor(bf16).copy_(master);
  narrow_moment1 = tensor(bf16).copy_(moment1);
  narrow_moment2 = tensor(bf16).copy_(moment2);
  lower = tensor(fp32.dtype(at::kShort)).zero_();
  step = at::zeros({}, fp32);
}

AdamArrays AdamTensors::separate() const {
  return {master.data_ptr<float>(),
          moment1.data_ptr(),
          moment2.data_ptr(),
          gradient.data_ptr(),
          Element::kBFloat16,
          parameter.data_ptr(),
          Element::kBFloat16,
          count(master)};
}
AdamArrays AdamTensors::split() const {
  AdamArrays arrays = separate();
  arrays.master = nullptr;
  arrays.lower = lower.data_ptr<std::int16_t>();
  return arrays;
}
AdamArrays AdamTensors::narrow() const {
  AdamArrays arrays = separate();
  arrays.moment1 = narrow_moment1.data_ptr();
  arrays.moment2 = narrow_moment2.data_ptr();
  arrays.moment_type = Element::kBFloat16;
  return arrays;
}
AdamArrays AdamTensors::narrow_split() const {
  AdamArrays arrays = narrow();
  arrays.master = nullptr;
  arrays.lower = lower.data_ptr<std::int16_t>();
  return arrays;
}
AdamArrays AdamTensors::plain() const {
  AdamArrays arrays = separate();
  arrays.gradient = gradient32.data_ptr();
  arrays.gradient_type = Element::kFloat32;
  arrays.parameter = nullptr;
  arrays.parameter_type = Element::kFloat32;
  return arrays;
}

void AdamTensors::torch_fused() {
  step.add_(1);
  at::_fused_adamw_({master},
                    {gradient32},
                    {moment1},
                    {moment2},
                    /*max_exp_avg_sqs=*/at::TensorList(),
                    {step},
                    kHyper.lr,
                    kHyper.beta1,
                    kHyper.beta2,
                    kHyper.weight_decay,
                    kHyper.eps,
                    /*amsgrad=*/false,
                    /*maximize=*/false);
}

void AdamTensors::torch_fused_with_casts() {
  gradient32.copy_(gradient);
  torch_fused();
  parameter.copy_(master);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor wide = a.to(at::kDouble);
  return wide.sub(b.to(at::kDouble)).abs().div(wide.abs().clamp_min(1e-3)).max().item<double>();
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const auto bits = a.element_size() == 4 ? at::kInt : at::kShort;
  return at::equal(a.view(bits), b.view(bits));
}

}  // namespace elixir::benchmarks
