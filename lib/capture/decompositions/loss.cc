// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// CTC loss, from ATen/native/LossCTC.cpp and cudnn/LossCTC.cpp.
#include <algorithm>
#include <string>
#include <vector>

#include <ATen/core/Reduction.h>
#include <ATen/ops/_use_cudnn_ctc_loss.h>
#include <ATen/ops/_use_miopen_ctc_loss.h>
#include <ATen/ops/ctc_loss.h>
#include <ATen/ops/ctc_loss_native.h>
#include <ATen/ops/tensor.h>

#include "capture/decompositions/decompositions.h"
#include "capture/record/dispatch/fallbacks.h"
#include "capture/record/dispatch/session.h"

namespace elixir::capture {
namespace {

using program::Target;

/// cuDNN needs short int32 targets in one row on the host, and all inputs with full length.
bool suits_cudnn(const at::Tensor& log_probs, const Call& call) {
  constexpr std::int64_t kLongestTarget = 255;
  const at::Tensor targets = call.tensor("targets");
  const Sizes inputs = call.integers("input_lengths");
  const Sizes lengths = call.integers("target_lengths");
  if (call.integer("blank") != 0 || log_probs.scalar_type() != at::kFloat || !targets.is_cpu() ||
      targets.scalar_type() != at::kInt || targets.dim() != 1 || !targets.is_contiguous() ||
      inputs.size() < lengths.size()) {
    return false;
  }
  const bool full = std::all_of(inputs.begin(), inputs.end(), [&](std::int64_t length) {
    return length == log_probs.size(0);
  });
  for (std::size_t i = 0; full && i < lengths.size(); ++i) {
    if (lengths[i] > kLongestTarget || lengths[i] > inputs[i]) return false;
  }
  return full;
}

}  // namespace

bool divides_by_lengths(const Target&, const Call& call) {
  return call.integer("reduction") == at::Reduction::Mean;
}
Values divide_by_constant_lengths(const Target&, const Call& call) {
  const at::Tensor losses = at::ctc_loss(call.tensor("log_probs"),
                                         call.tensor("targets"),
                                         call.integers("input_lengths"),
                                         call.integers("target_lengths"),
                                         call.integer("blank"),
                                         at::Reduction::None,
                                         call.flag("zero_infinity"));
  at::Tensor lengths;
  {
    const OutsideCapture outside;
    std::vector<double> values;
    for (const std::int64_t length : call.integers("target_lengths")) {
      values.push_back(static_cast<double>(std::max<std::int64_t>(length, 1)));
    }
    lengths = at::tensor(values, at::TensorOptions().dtype(losses.scalar_type()));
  }
  return {losses.div(lengths).mean()};
}

bool asks_libraries_for_ctc(const Target& target, const Call& call) {
  return !divides_by_lengths(target, call);
}
Values call_ctc_loss_on_cuda(const Target&, const Call& call) {
  const at::Tensor given = call.tensor("log_probs");
  const at::Tensor targets = call.tensor("targets");
  const Sizes inputs = call.integers("input_lengths");
  const Sizes lengths = call.integers("target_lengths");
  const std::int64_t blank = call.integer("blank");
  const bool batched = given.dim() == 3;
  const at::Tensor log_probs = batched ? given : given.unsqueeze(1);
  if (suits_cudnn(log_probs, call)) {
    Session* session = Session::current();
    session->findings().add_missing("aten::_cudnn_ctc_loss", session->position().place());
  }
  static_cast<void>(at::_use_cudnn_ctc_loss(log_probs, targets, inputs, lengths, blank));
  // LibTorch copies the targets for its MIOpen check, and keeps the copy until the loss exists.
  const at::Tensor on_host =
      targets.is_cpu() ? targets.to(at::kInt) : targets.to(c10::Device(c10::kCPU), at::kInt);
  static_cast<void>(at::_use_miopen_ctc_loss(log_probs, on_host, inputs, lengths, blank));
  const std::int64_t reduction = call.integer("reduction");
  const at::Tensor loss = at::native::ctc_loss(
      log_probs, targets, inputs, lengths, blank, reduction, call.flag("zero_infinity"));
  return {batched || reduction != at::Reduction::None ? loss : loss.squeeze(0)};
}

}  // namespace elixir::capture
