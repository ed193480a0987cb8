// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What CUDA dispatches with cuDNN 9.19 (LibTorch 2.11's own), by compute capability where LibTorch
// checks it. Compared with a real GPU only for 9.0.
#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/cudnn_batch_norm.h>
#include <ATen/ops/native_dropout.h>

#include "capture/decompositions/decompositions.h"

namespace elixir::capture {
namespace {

using program::Target;

bool drops_out(const Target&, const Call& call) {
  return call.flag("train") && call.number("p") > 0 && call.number("p") < 1 &&
         call.tensor("input").numel() > 0;
}
Values call_native_dropout(const Target&, const Call& call) {
  return {std::get<0>(at::native_dropout(call.tensor("input"), call.number("p"), true))};
}

bool takes_cudnn_batch_norm(const Target&, const Call& call) {
  constexpr std::int64_t kMostTraining = 880801;
  constexpr std::int64_t kMostEvaluation = 65535;
  const at::Tensor input = call.tensor("input");
  const at::Tensor weight = call.tensor_or_undefined("weight");
  const bool training = call.flag("training");
  if (!weight.defined() || !call.tensor_or_undefined("bias").defined()) return false;
  if (input.scalar_type() == at::kBFloat16 || weight.scalar_type() == at::kBFloat16) return false;
  if (input.scalar_type() == at::kHalf && weight.scalar_type() != at::kFloat) return false;
  if (!training && !call.tensor_or_undefined("running_mean").defined()) return false;
  return input.dim() >= 3 && input.size(0) <= (training ? kMostTraining : kMostEvaluation) &&
         call.number("eps") >= 0.0 && call.flag("cudnn_enabled");
}
Values call_cudnn_batch_norm(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("input");
  const auto contiguous_or_none = [](const at::Tensor& tensor) {
    return tensor.defined() ? std::optional<at::Tensor>(tensor.contiguous()) : std::nullopt;
  };
  auto [output, mean, deviation, reserve] =
      at::cudnn_batch_norm(input.contiguous(input.suggest_memory_format()),
                           call.tensor("weight").contiguous(),
                           call.tensor("bias").contiguous(),
                           contiguous_or_none(call.tensor_or_undefined("running_mean")),
                           contiguous_or_none(call.tensor_or_undefined("running_var")),
                           call.flag("training"),
                           call.number("momentum"),
                           call.number("eps"));
  return {output, mean, deviation, reserve, std::int64_t{1}};
}

// The softmax kernels widen fp16 themselves, but no other dtype.
bool widens_half(const Target&, const Call& call) {
  return call.tensor("self").scalar_type() == at::kHalf && !call.is_none("dtype") &&
         call.dtype("dtype") == at::kFloat;
}
Values call_widening_softmax(const Target&, const Call& call) {
  return {at::_softmax(call.tensor("self"), call.integer("dim"), /*half_to_float=*/true)};
}
Values call_widening_log_softmax(const Target&, const Call& call) {
  return {at::_log_softmax(call.tensor("self"), call.integer("dim"), /*half_to_float=*/true)};
}

}  // namespace

const Decompositions kCudaDecompositions = {
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
    {nullptr, "aten::mm", &refuses_integers_in_mm, nullptr},
    {nullptr, "aten::addmm", &refuses_integers_in_addmm, nullptr},
    {nullptr, "aten::bmm", &refuses_integers_in_bmm, nullptr},
    {nullptr, "aten::baddbmm", &refuses_integers_in_baddbmm, nullptr},
    {nullptr, "aten::lstm_cell", &always, &call_fused_lstm_cell},
    {nullptr, "aten::gru_cell", &always, &call_fused_gru_cell},
    {nullptr, "aten::softmax.int", &widens_half, &call_widening_softmax},
    {nullptr, "aten::log_softmax.int", &widens_half, &call_widening_log_softmax},
    {nullptr, "aten::ctc_loss.IntList", &asks_libraries_for_ctc, &call_ctc_loss_on_cuda},
    {nullptr, "aten::dropout", &drops_out, &call_native_dropout},
    {nullptr, "aten::_batch_norm_impl_index", &takes_cudnn_batch_norm, &call_cudnn_batch_norm},
};

}  // namespace elixir::capture
