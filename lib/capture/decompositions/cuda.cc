// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What CUDA dispatches with cuDNN 9.19 (LibTorch 2.11's own), by compute capability where LibTorch
// asks for it. Compared with a GPU on 9.0 alone.
#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/cudnn_batch_norm.h>
#include <ATen/ops/native_dropout.h>

#include "capture/decompositions/decompositions.h"

namespace elixir::capture {
namespace {

using program::Target;

bool drops_out(const Target&, const Values& a) {
  return a[2].toBool() && a[1].toDouble() > 0 && a[1].toDouble() < 1 && a[0].toTensor().numel() > 0;
}
Values call_native_dropout(const Target&, const Values& a) {
  return {std::get<0>(at::native_dropout(a[0].toTensor(), a[1].toDouble(), true))};
}

// _batch_norm_impl_index: input, weight, bias, running_mean, running_var, training, momentum, eps,
// cudnn_enabled
bool takes_cudnn_batch_norm(const Target&, const Values& a) {
  constexpr std::int64_t kMostTraining = 880801;
  constexpr std::int64_t kMostEvaluation = 65535;
  const at::Tensor input = a[0].toTensor();
  const at::Tensor weight = tensor_or_undefined(a[1]);
  const bool training = a[5].toBool();
  if (!weight.defined() || !tensor_or_undefined(a[2]).defined()) return false;
  if (input.scalar_type() == at::kBFloat16 || weight.scalar_type() == at::kBFloat16) return false;
  if (input.scalar_type() == at::kHalf && weight.scalar_type() != at::kFloat) return false;
  if (!training && !tensor_or_undefined(a[3]).defined()) return false;
  return input.dim() >= 3 && input.size(0) <= (training ? kMostTraining : kMostEvaluation) &&
         a[7].toDouble() >= 0.0 && a[8].toBool();
}
Values call_cudnn_batch_norm(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  const auto contiguous_or_none = [](const at::Tensor& tensor) {
    return tensor.defined() ? std::optional<at::Tensor>(tensor.contiguous()) : std::nullopt;
  };
  auto [output, mean, deviation, reserve] =
      at::cudnn_batch_norm(input.contiguous(input.suggest_memory_format()),
                           a[1].toTensor().contiguous(),
                           a[2].toTensor().contiguous(),
                           contiguous_or_none(tensor_or_undefined(a[3])),
                           contiguous_or_none(tensor_or_undefined(a[4])),
                           a[5].toBool(),
                           a[6].toDouble(),
                           a[7].toDouble());
  return {output, mean, deviation, reserve, std::int64_t{1}};
}

// softmax and log_softmax: self, dim, dtype. The kernel itself widens fp16, and fp16 alone.
bool widens_half(const Target&, const Values& a) {
  return a[0].toTensor().scalar_type() == at::kHalf && !a[2].isNone() &&
         a[2].toScalarType() == at::kFloat;
}
Values call_widening_softmax(const Target&, const Values& a) {
  return {at::_softmax(a[0].toTensor(), a[1].toInt(), /*half_to_float=*/true)};
}
Values call_widening_log_softmax(const Target&, const Values& a) {
  return {at::_log_softmax(a[0].toTensor(), a[1].toInt(), /*half_to_float=*/true)};
}

}  // namespace

const Choices kCudaChoices = {
    {nullptr, "aten::scaled_dot_product_attention", &takes_cudnn_attention, &call_cudnn_attention},
    {nullptr, "aten::scaled_dot_product_attention", &takes_flash_attention, &call_flash_attention},
    {nullptr,
     "aten::scaled_dot_product_attention",
     &takes_efficient_attention,
     &call_efficient_attention},
    {nullptr, "aten::scaled_dot_product_attention", &tells_of_expanded_mask, nullptr},
    {nullptr, "aten::lstm.input", &takes_cudnn_rnn, &call_cudnn_lstm},
    {nullptr, "aten::gru.input", &takes_cudnn_rnn, &call_cudnn_gru},
    {nullptr, "aten::rnn_tanh.input", &takes_cudnn_rnn, &call_cudnn_tanh},
    {nullptr, "aten::rnn_relu.input", &takes_cudnn_rnn, &call_cudnn_relu},
    {nullptr, "aten::lstm.data", &tells_of_packed_layers, nullptr},
    {nullptr, "aten::gru.data", &tells_of_packed_layers, nullptr},
    {nullptr, "aten::rnn_tanh.data", &tells_of_packed_layers, nullptr},
    {nullptr, "aten::rnn_relu.data", &tells_of_packed_layers, nullptr},
    {nullptr, "aten::lstm_cell", &always, &call_fused_lstm_cell},
    {nullptr, "aten::gru_cell", &always, &call_fused_gru_cell},
    {nullptr, "aten::softmax.int", &widens_half, &call_widening_softmax},
    {nullptr, "aten::log_softmax.int", &widens_half, &call_widening_log_softmax},
    {nullptr, "aten::ctc_loss.IntList", &asks_libraries_for_ctc, &call_ctc_loss_on_cuda},
    {nullptr, "aten::dropout", &drops_out, &call_native_dropout},
    {nullptr, "aten::_batch_norm_impl_index", &takes_cudnn_batch_norm, &call_cudnn_batch_norm},
};

}  // namespace elixir::capture
