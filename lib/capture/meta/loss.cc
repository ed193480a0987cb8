// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of losses.
#include <algorithm>

#include <ATen/core/Reduction.h>

#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

Values huber_loss(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  if (call.integer("reduction") != at::Reduction::None) return {new_empty({}, input)};
  return {preserved_like(input)};
}

Values binary_cross_entropy(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const at::Tensor each = preserved_like(input);
  if (call.integer("reduction") == at::Reduction::None) return {each};
  return {each.as_strided({}, {})};  // the scalar reuses the memory of the elements
}

/// self: (N, C, H, W)
Values nll_loss2d(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes sizes = call.integer("reduction") == at::Reduction::None
                          ? Sizes{input.size(0), input.size(2), input.size(3)}
                          : Sizes{};
  return {new_empty(sizes, input), new_empty({}, input)};
}
/// self: (N, C) or (C)
Values multi_margin_loss(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const at::Tensor target = call.tensor("target");
  const bool each = call.integer("reduction") == at::Reduction::None && target.dim() > 0;
  return {new_empty(each ? Sizes{target.size(0)} : Sizes{}, input)};
}

/// self: (N, C) or (C). The second result marks the classes that are targets.
Values multilabel_margin_loss(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const bool each = call.integer("reduction") == at::Reduction::None && input.dim() == 2;
  return {new_empty(each ? Sizes{input.size(0)} : Sizes{}, input),
          new_empty(call.tensor("target").sizes(), input)};
}

/// log_probs: (T, N, C). The table of partial sums has two columns per symbol of the longest
/// target.
Values ctc_loss(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("log_probs");
  const Sizes input_lengths = call.integers("input_lengths");
  const Sizes target_lengths = call.integers("target_lengths");
  check_dim(input, 3, "log_probs");
  check_none_negative(target_lengths, "target length");
  TORCH_CHECK(static_cast<std::int64_t>(input_lengths.size()) == input.size(1),
              "input_lengths must be of size batch_size");
  TORCH_CHECK(static_cast<std::int64_t>(target_lengths.size()) == input.size(1),
              "target_lengths must be of size batch_size");
  const std::int64_t longest =
      target_lengths.empty() ? 0 : *std::max_element(target_lengths.begin(), target_lengths.end());
  return {new_empty({input.size(1)}, input),
          new_empty({input.size(1), input.size(0), product_of(2, longest, "target length") + 1},
                    input)};
}

Values ctc_loss_backward(const Target&, const Call& call) {
  return {contiguous_like(call.tensor("log_probs"))};
}

/// Whether a library's kernel runs. For cuDNN, the choice of ctc_loss has already decided
/// (decompositions/loss.cc). MIOpen does not run on NVIDIA GPUs.
Values takes_no_library(const Target&, const Call&) {
  return {false};
}

}  // namespace

const Rules kLossRules = {
    {"aten::_ctc_loss", &ctc_loss},
    {"aten::_ctc_loss_backward", &ctc_loss_backward},
    {"aten::_use_cudnn_ctc_loss", &takes_no_library},
    {"aten::_use_miopen_ctc_loss", &takes_no_library},
    {"aten::binary_cross_entropy", &binary_cross_entropy},
    {"aten::binary_cross_entropy_backward", &preserved_as_self},
    {"aten::huber_loss", &huber_loss},
    {"aten::huber_loss_backward", &contiguous_as_self},
    {"aten::mse_loss_backward", &contiguous_as_self},
    {"aten::multi_margin_loss", &multi_margin_loss},
    {"aten::multi_margin_loss_backward", &contiguous_as_self},
    {"aten::multilabel_margin_loss_backward", &contiguous_as_self},
    {"aten::multilabel_margin_loss_forward", &multilabel_margin_loss},
    {"aten::nll_loss2d_backward", &preserved_as_self},
    {"aten::nll_loss2d_forward", &nll_loss2d},
    {"aten::smooth_l1_loss_backward", &contiguous_as_self},
};

}  // namespace elixir::capture
