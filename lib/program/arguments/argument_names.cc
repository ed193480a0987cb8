// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Taken from the schemas of LibTorch 2.11; tests/capture/call_test.cc compares them.
#include <array>

#include "program/arguments/arguments.h"

namespace elixir::program {
namespace {

struct Row {
  std::string_view name, overload, arguments;
};

constexpr std::array<Row, 59> kRows{{
    {"aten::_batch_norm_with_update",
     "",
     "input, weight, bias, running_mean, running_var, momentum, eps"},
    {"aten::_convolution",
     "",
     "input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, "
     "benchmark, deterministic, cudnn_enabled, allow_tf32"},
    {"aten::_ctc_loss",
     "",
     "log_probs, targets, input_lengths, target_lengths, blank, zero_infinity"},
    {"aten::_ctc_loss_backward",
     "",
     "grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, "
     "blank, zero_infinity"},
    {"aten::_cudnn_rnn",
     "",
     "input, weight, weight_stride0, weight_buf, hx, cx, mode, hidden_size, proj_size, num_layers, "
     "batch_first, dropout, train, bidirectional, batch_sizes, dropout_state"},
    {"aten::_cudnn_rnn_backward",
     "",
     "input, weight, weight_stride0, weight_buf, hx, cx, output, grad_output, grad_hy, grad_cy, "
     "mode, hidden_size, proj_size, num_layers, batch_first, dropout, train, bidirectional, "
     "batch_sizes, dropout_state, reserve, output_mask"},
    {"aten::_embedding_bag_backward",
     "",
     "grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, "
     "scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx"},
    {"aten::_fused_moving_avg_obs_fq_helper",
     "",
     "self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, "
     "averaging_const, quant_min, quant_max, ch_axis, per_row_fake_quant, symmetric_quant"},
    {"aten::_log_softmax", "", "self, dim, half_to_float"},
    {"aten::_log_softmax_backward_data", "", "grad_output, output, dim, input_dtype"},
    {"aten::_native_batch_norm_legit",
     "",
     "input, weight, bias, running_mean, running_var, training, momentum, eps"},
    {"aten::_safe_softmax", "", "self, dim, dtype"},
    {"aten::_grouped_mm", "", "self, mat2, offs, bias, out_dtype"},
    {"aten::_scaled_dot_product_cudnn_attention",
     "",
     "query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, return_debug_mask, "
     "scale"},
    {"aten::_scaled_dot_product_cudnn_attention_backward",
     "",
     "grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, "
     "cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, scale"},
    {"aten::_scaled_dot_product_efficient_attention",
     "",
     "query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale"},
    {"aten::_scaled_dot_product_efficient_attention_backward",
     "",
     "grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, "
     "dropout_p, grad_input_mask, is_causal, scale"},
    {"aten::_scaled_dot_product_flash_attention",
     "",
     "query, key, value, dropout_p, is_causal, return_debug_mask, scale"},
    {"aten::_scaled_dot_product_flash_attention_backward",
     "",
     "grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, "
     "is_causal, philox_seed, philox_offset, scale"},
    {"aten::_scaled_dot_product_flash_attention_for_cpu",
     "",
     "query, key, value, dropout_p, is_causal, attn_mask, scale"},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
     "",
     "grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale"},
    {"aten::_softmax_backward_data", "", "grad_output, output, dim, input_dtype"},
    {"aten::_to_copy", "", "self, dtype, layout, device, pin_memory, non_blocking, memory_format"},
    {"aten::addmm", "", "self, mat1, mat2, beta, alpha"},
    {"aten::addmv", "", "self, mat, vec, beta, alpha"},
    {"aten::baddbmm", "", "self, batch1, batch2, beta, alpha"},
    {"aten::binary_cross_entropy_with_logits", "", "self, target, weight, pos_weight, reduction"},
    {"aten::bmm", "", "self, mat2"},
    {"aten::convolution",
     "",
     "input, weight, bias, stride, padding, dilation, transposed, output_padding, groups"},
    {"aten::convolution_backward",
     "",
     "grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, "
     "output_padding, groups, output_mask"},
    {"aten::copy_", "", "self, src, non_blocking"},
    {"aten::cudnn_batch_norm",
     "",
     "input, weight, bias, running_mean, running_var, training, exponential_average_factor, "
     "epsilon"},
    {"aten::cumsum", "", "self, dim, dtype"},
    {"aten::dot", "", "self, tensor"},
    {"aten::embedding", "", "weight, indices, padding_idx, scale_grad_by_freq, sparse"},
    {"aten::embedding_dense_backward",
     "",
     "grad_output, indices, num_weights, padding_idx, scale_grad_by_freq"},
    {"aten::max_pool2d_with_indices",
     "",
     "self, kernel_size, stride, padding, dilation, ceil_mode"},
    {"aten::max_pool2d_with_indices_backward",
     "",
     "grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices"},
    {"aten::mean", "", "self, dtype"},
    {"aten::mean", "dim", "self, dim, keepdim, dtype"},
    {"aten::mean", "out", "self, dim, keepdim, dtype, out"},
    {"aten::mkldnn_rnn_layer",
     "",
     "input, weight0, weight1, weight2, weight3, hx_, cx_, reverse, batch_sizes, mode, "
     "hidden_size, num_layers, has_biases, bidirectional, batch_first, train"},
    {"aten::mkldnn_rnn_layer_backward",
     "",
     "input, weight1, weight2, weight3, weight4, hx_, cx_tmp, output, hy_, cy_, grad_output, "
     "grad_hy, grad_cy, reverse, mode, hidden_size, num_layers, has_biases, train, bidirectional, "
     "batch_sizes, batch_first, workspace"},
    {"aten::mm", "", "self, mat2"},
    {"aten::mv", "", "self, vec"},
    {"aten::native_batch_norm",
     "",
     "input, weight, bias, running_mean, running_var, training, momentum, eps"},
    {"aten::native_batch_norm_backward",
     "",
     "grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, "
     "output_mask"},
    {"aten::native_group_norm", "", "input, weight, bias, N, C, HxW, group, eps"},
    {"aten::native_group_norm_backward",
     "",
     "grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask"},
    {"aten::native_layer_norm", "", "input, normalized_shape, weight, bias, eps"},
    {"aten::native_layer_norm_backward",
     "",
     "grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask"},
    {"aten::nll_loss2d_forward", "", "self, target, weight, reduction, ignore_index"},
    {"aten::nll_loss_backward",
     "",
     "grad_output, self, target, weight, reduction, ignore_index, total_weight"},
    {"aten::nll_loss_forward", "", "self, target, weight, reduction, ignore_index"},
    {"aten::rrelu_with_noise", "", "self, noise, lower, upper, training, generator"},
    {"aten::rrelu_with_noise_", "", "self, noise, lower, upper, training, generator"},
    {"aten::sum", "", "self, dtype"},
    {"aten::sum", "IntList_out", "self, dim, keepdim, dtype, out"},
    {"aten::sum", "dim_IntList", "self, dim, keepdim, dtype"},
}};

ArgumentNames names_in(const Row& row) {
  constexpr std::string_view kBetween = ", ";
  ArgumentNames names{row.name, row.overload, {}};
  std::string_view rest = row.arguments;
  for (std::size_t end = rest.find(kBetween); end != rest.npos; end = rest.find(kBetween)) {
    names.arguments.push_back(rest.substr(0, end));
    rest.remove_prefix(end + kBetween.size());
  }
  names.arguments.push_back(rest);
  return names;
}

}  // namespace

const std::vector<ArgumentNames>& argument_names() {
  static const std::vector<ArgumentNames> table = [] {
    std::vector<ArgumentNames> all;
    all.reserve(kRows.size());
    for (const Row& row : kRows) all.push_back(names_in(row));
    return all;
  }();
  return table;
}

}  // namespace elixir::program
