// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What the CPU dispatches, with oneDNN enabled.
#include <ATen/ops/native_group_norm.h>
#include <ATen/ops/native_group_norm_backward.h>

#include "capture/decompositions/decompositions.h"

namespace elixir::capture {
namespace {

using program::Target;

/// The CPU has a kernel for channels last. Other devices make the input contiguous.
bool is_channels_last(const Target&, const Call& call) {
  return call.tensor("input").suggest_memory_format() != at::MemoryFormat::Contiguous;
}
Values call_group_norm_channels_last(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("input");
  const auto contiguous = [&call](const char* name) {
    const at::Tensor tensor = call.tensor_or_undefined(name);
    return tensor.defined() ? std::optional<at::Tensor>(tensor.contiguous()) : std::nullopt;
  };
  const std::int64_t batch = input.size(0);
  const std::int64_t channels = input.size(1);
  const std::int64_t area = batch * channels == 0 ? 0 : input.numel() / (batch * channels);
  return {std::get<0>(at::native_group_norm(input.contiguous(input.suggest_memory_format()),
                                            contiguous("weight"),
                                            contiguous("bias"),
                                            batch,
                                            channels,
                                            area,
                                            call.integer("num_groups"),
                                            call.number("eps")))};
}

/// If the gradient is on the CPU, its formula skips making gradient and input contiguous, each in
/// the input's format: those two calls do nothing, and the kernel makes the call itself.
bool makes_contiguous(const Target&, const Call& call) {
  return call.memory_format("memory_format") == at::MemoryFormat::Contiguous;
}
Values as_it_is(const Target&, const Call& call) {
  return {call.tensor("self")};
}
Values call_group_norm_backward(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("input");
  const at::MemoryFormat format = input.suggest_memory_format();
  const c10::List<bool> mask = call.flags("output_mask");
  const auto [of_input, of_weight, of_bias] =
      at::native_group_norm_backward(call.tensor("grad_out").contiguous(format),
                                     input.contiguous(format),
                                     call.tensor("mean"),
                                     call.tensor("rstd"),
                                     call.tensor_or_undefined("weight"),
                                     call.integer("N"),
                                     call.integer("C"),
                                     call.integer("HxW"),
                                     call.integer("group"),
                                     {mask[0], mask[1], mask[2]});
  return {of_input, of_weight, of_bias};
}

}  // namespace

const Decompositions kCpuDecompositions = {
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
