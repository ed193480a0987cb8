// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Choices: what a target dispatches where LibTorch decides by device. Above autograd, a call that
// matches a row of the target's table is replaced by the calls that the target makes. The first
// match wins. A condition must not depend on the build of this process or on the CPU it runs on (a
// CPU's instruction set is part of the target), so that equal tables give equal programs.
//
// To add one: a row in cpu.cc or cuda.cc, its functions in the file of its topic, an equality test.

#include <initializer_list>
#include <string>
#include <vector>

#include "capture/record/arguments/call.h"
#include "program/program.h"

namespace elixir::capture {

/// Stands for the caller of calls that the autograd engine makes between nodes.
inline constexpr const char* kEngine = "(autograd engine)";

struct Decomposition {
  /// The innermost composite that runs, otherwise the autograd node that runs ("IndexBackward0") or
  /// kEngine. nullptr: anywhere.
  const char* inside;
  const char* op;  ///< "aten::reshape"
  bool (*when)(const program::Target& target, const Call& call);
  /// nullptr for rows whose `when` only gives a hint or refuses, and never matches.
  Values (*call)(const program::Target& target, const Call& call);
};
using Decompositions = std::initializer_list<Decomposition>;

extern const Decompositions kCommonDecompositions;
extern const Decompositions kCpuDecompositions;
extern const Decompositions kCudaDecompositions;

/// The rows for an operator, in order; empty for most operators.
[[nodiscard]] std::vector<const Decomposition*> decompositions_for(const program::Target& target,
                                                                   const std::string& op);

// --- Hints (hints.cc): rows that never match, but give a hint or refuse --------------------
/// Gives a hint when CUDA's fused attention refuses a call only because its mask has stride 0.
[[nodiscard]] bool tells_of_expanded_mask(const program::Target& target, const Call& call);
/// Gives a hint that cuDNN takes packed sequences as a whole.
[[nodiscard]] bool tells_of_packed_layers(const program::Target& target, const Call& call);
/// Throws what CUDA's kernels say to products of integers.
[[nodiscard]] bool refuses_integers_in_mm(const program::Target& target, const Call& call);
[[nodiscard]] bool refuses_integers_in_addmm(const program::Target& target, const Call& call);
[[nodiscard]] bool refuses_integers_in_bmm(const program::Target& target, const Call& call);
[[nodiscard]] bool refuses_integers_in_baddbmm(const program::Target& target, const Call& call);
/// Throws what torch.nn.functional.batch_norm says to one value per channel in training: tracing
/// leaves its check out, and the variance of one value is none.
[[nodiscard]] bool refuses_statistics_of_one_value(const program::Target& target, const Call& call);
/// Throws what kernels say to dtypes that do not go together, where LibTorch's Meta kernels take
/// them.
[[nodiscard]] bool refuses_other_dtypes_in_mm(const program::Target& target, const Call& call);
[[nodiscard]] bool refuses_other_dtypes_in_bmm(const program::Target& target, const Call& call);
[[nodiscard]] bool refuses_other_dtypes_in_mv(const program::Target& target, const Call& call);
[[nodiscard]] bool refuses_other_dtypes_in_nll_loss(const program::Target& target,
                                                    const Call& call);
[[nodiscard]] bool refuses_other_dtypes_in_nll_loss2d(const program::Target& target,
                                                      const Call& call);
/// Throws kDataDependent: LibTorch reads the lengths of sequences.
[[nodiscard]] bool refuses_packing_by_lengths(const program::Target& target, const Call& call);
[[nodiscard]] bool refuses_lengths_in_tensors(const program::Target& target, const Call& call);
/// Throws kUnsupportedModel when the gradient of the weight would be a sparse tensor.
[[nodiscard]] bool refuses_sparse_gradient(const program::Target& target, const Call& call);
[[nodiscard]] bool refuses_sparse_gradient_of_bag(const program::Target& target, const Call& call);
[[nodiscard]] bool refuses_sparse_gradient_of_gather(const program::Target& target,
                                                     const Call& call);

// --- Attention (attention.cc) ------------------------------------------------------------
[[nodiscard]] bool takes_flash_for_cpu(const program::Target& target, const Call& call);
[[nodiscard]] Values call_flash_for_cpu(const program::Target& target, const Call& call);
[[nodiscard]] bool takes_cudnn_attention(const program::Target& target, const Call& call);
[[nodiscard]] Values call_cudnn_attention(const program::Target& target, const Call& call);
[[nodiscard]] bool takes_flash_attention(const program::Target& target, const Call& call);
[[nodiscard]] Values call_flash_attention(const program::Target& target, const Call& call);
[[nodiscard]] bool takes_efficient_attention(const program::Target& target, const Call& call);
/// Whether it would take the call if the mask's last dimension were not expanded with stride 0.
[[nodiscard]] bool only_mask_is_expanded(const program::Target& target, const Call& call);
[[nodiscard]] Values call_efficient_attention(const program::Target& target, const Call& call);

// --- CTC loss (loss.cc) ------------------------------------------------------------------
/// The composite fills a new tensor with the lengths, without the dispatcher. A constant has the
/// same values.
[[nodiscard]] bool divides_by_lengths(const program::Target& target, const Call& call);
[[nodiscard]] Values divide_by_constant_lengths(const program::Target& target, const Call& call);
/// On CUDA the composite first tries the libraries' kernels.
[[nodiscard]] bool asks_libraries_for_ctc(const program::Target& target, const Call& call);
[[nodiscard]] Values call_ctc_loss_on_cuda(const program::Target& target, const Call& call);

// --- Recurrent layers (recurrent.cc, cudnn_rnn.cc) -------------------------------
[[nodiscard]] bool takes_onednn_lstm(const program::Target& target, const Call& call);
[[nodiscard]] Values call_onednn_lstm(const program::Target& target, const Call& call);
/// Step by step; the products of the input are computed for all steps at once.
[[nodiscard]] Values call_stepwise_lstm(const program::Target& target, const Call& call);
[[nodiscard]] Values call_stepwise_gru(const program::Target& target, const Call& call);
[[nodiscard]] Values call_stepwise_tanh(const program::Target& target, const Call& call);
[[nodiscard]] Values call_stepwise_relu(const program::Target& target, const Call& call);
/// cuDNN's kernels compute all steps, layers and directions at once.
[[nodiscard]] bool takes_cudnn_rnn(const program::Target& target, const Call& call);
[[nodiscard]] Values call_cudnn_lstm(const program::Target& target, const Call& call);
[[nodiscard]] Values call_cudnn_gru(const program::Target& target, const Call& call);
[[nodiscard]] Values call_cudnn_tanh(const program::Target& target, const Call& call);
[[nodiscard]] Values call_cudnn_relu(const program::Target& target, const Call& call);
/// The states of an LSTM. There must be two.
[[nodiscard]] std::vector<at::Tensor> lstm_states(const Call& call);
/// CUDA's kernels for the gates of one step.
[[nodiscard]] Values call_fused_lstm_cell(const program::Target& target, const Call& call);
[[nodiscard]] Values call_fused_gru_cell(const program::Target& target, const Call& call);

/// The condition of rows that always match.
[[nodiscard]] bool always(const program::Target& target, const Call& call);

}  // namespace elixir::capture
