// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What the CPU dispatches, oneDNN enabled.
#include <ATen/ops/native_group_norm.h>
#include <ATen/ops/native_group_norm_backward.h>

#include "capture/decompositions/decompositions.h"

namespace elixir::capture {
namespace {

using program::Target;

/// group_norm: input, num_groups, weight, bias, eps. The CPU has a kernel for channels last; others
/// make the input contiguous.
bool is_channels_last(const Target&, const Values& a) {
  return a[0].toTensor().suggest_memory_format() != at::MemoryFormat::Contiguous;
}
Values call_group_norm_channels_last(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  const auto contiguous = [](const c10::IValue& value) {
    const at::Tensor tensor = tensor_or_undefined(value);
    return tensor.defined() ? std::optional<at::Tensor>(tensor.contiguous()) : std::nullopt;
  };
  const std::int64_t batch = input.size(0);
  const std::int64_t channels = input.size(1);
  const std::int64_t area = batch * channels == 0 ? 0 : input.numel() / (batch * channels);
  return {std::get<0>(at::native_group_norm(input.contiguous(input.suggest_memory_format()),
                                            contiguous(a[2]),
                                            contiguous(a[3]),
                                            batch,
                                            channels,
                                            area,
                                            a[1].toInt(),
                                            a[4].toDouble()))};
}

/// Its gradient formula asks whether the gradient is on the CPU before it makes gradient and input
/// contiguous, each in the input's format: the two calls do nothing, and the kernel's call does it.
bool makes_contiguous(const Target&, const Values& a) {
  return a[1].toMemoryFormat() == at::MemoryFormat::Contiguous;
}
Values as_it_is(const Target&, const Values& a) {
  return {a[0]};
}
/// grad, input, mean, rstd, weight, N, C, HxW, group, output_mask
Values call_group_norm_backward(const Target&, const Values& a) {
  const at::Tensor input = a[1].toTensor();
  const at::MemoryFormat format = input.suggest_memory_format();
  const c10::List<bool> mask = a[9].toBoolList();
  const auto [of_input, of_weight, of_bias] =
      at::native_group_norm_backward(a[0].toTensor().contiguous(format),
                                     input.contiguous(format),
                                     a[2].toTensor(),
                                     a[3].toTensor(),
                                     tensor_or_undefined(a[4]),
                                     a[5].toInt(),
                                     a[6].toInt(),
                                     a[7].toInt(),
                                     a[8].toInt(),
                                     {mask[0], mask[1], mask[2]});
  return {of_input, of_weight, of_bias};
}

}  // namespace

const Choices kCpuChoices = {
    {nullptr, "aten::scaled_dot_product_attention", &takes_flash_for_cpu, &call_flash_for_cpu},
    {nullptr, "aten::group_norm", &is_channels_last, &call_group_norm_channels_last},
    {"NativeGroupNormBackward0", "aten::contiguous", &makes_contiguous, &as_it_is},
    {"NativeGroupNormBackward0",
     "aten::native_group_norm_backward",
     &always,
     &call_group_norm_backward},
    {nullptr, "aten::lstm.input", &takes_onednn_lstm, &call_onednn_lstm},
    {nullptr, "aten::lstm.input", &always, &call_stepwise_lstm},
    {nullptr, "aten::gru.input", &always, &call_stepwise_gru},
    {nullptr, "aten::rnn_tanh.input", &always, &call_stepwise_tanh},
    {nullptr, "aten::rnn_relu.input", &always, &call_stepwise_relu},
};

}  // namespace elixir::capture
