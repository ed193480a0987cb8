// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// CTC loss, after ATen/native/LossCTC.cpp and cudnn/LossCTC.cpp. Arguments: log_probs, targets,
// input_lengths, target_lengths, blank, reduction, zero_infinity.
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
#include "capture/record/fallbacks.h"
#include "capture/record/session.h"

namespace elixir::capture {
namespace {

using program::Target;

/// cuDNN wants short int32 targets in one row on the host, and all inputs of full length.
bool suits_cudnn(const at::Tensor& log_probs, const Values& a) {
  constexpr std::int64_t kLongestTarget = 255;
  const at::Tensor targets = a[1].toTensor();
  const Sizes inputs = a[2].toIntVector();
  const Sizes lengths = a[3].toIntVector();
  if (a[4].toInt() != 0 || log_probs.scalar_type() != at::kFloat || !targets.is_cpu() ||
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

bool divides_by_lengths(const Target&, const Values& a) {
  return a[5].toInt() == at::Reduction::Mean;
}
Values divide_by_constant_lengths(const Target&, const Values& a) {
  const at::Tensor losses = at::ctc_loss(a[0].toTensor(),
                                         a[1].toTensor(),
                                         a[2].toIntVector(),
                                         a[3].toIntVector(),
                                         a[4].toInt(),
                                         at::Reduction::None,
                                         a[6].toBool());
  at::Tensor lengths;
  {
    const OutsideCapture outside;
    std::vector<double> values;
    for (const std::int64_t length : a[3].toIntVector()) {
      values.push_back(static_cast<double>(std::max<std::int64_t>(length, 1)));
    }
    lengths = at::tensor(values, at::TensorOptions().dtype(losses.scalar_type()));
  }
  return {losses.div(lengths).mean()};
}

bool asks_libraries_for_ctc(const Target& target, const Values& a) {
  return !divides_by_lengths(target, a);
}
Values call_ctc_loss_on_cuda(const Target&, const Values& a) {
  const at::Tensor given = a[0].toTensor();
  const at::Tensor targets = a[1].toTensor();
  const Sizes inputs = a[2].toIntVector();
  const Sizes lengths = a[3].toIntVector();
  const std::int64_t blank = a[4].toInt();
  const bool batched = given.dim() == 3;
  const at::Tensor log_probs = batched ? given : given.unsqueeze(1);
  if (suits_cudnn(log_probs, a)) {
    Session* session = Session::current();
    session->missing.push_back({"aten::_cudnn_ctc_loss", session->place()});
  }
  static_cast<void>(at::_use_cudnn_ctc_loss(log_probs, targets, inputs, lengths, blank));
  // LibTorch copies the targets to ask for MIOpen, and holds the copy until the loss is there.
  const at::Tensor on_host =
      targets.is_cpu() ? targets.to(at::kInt) : targets.to(c10::Device(c10::kCPU), at::kInt);
  static_cast<void>(at::_use_miopen_ctc_loss(log_probs, on_host, inputs, lengths, blank));
  const std::int64_t reduction = a[5].toInt();
  const at::Tensor loss =
      at::native::ctc_loss(log_probs, targets, inputs, lengths, blank, reduction, a[6].toBool());
  return {batched || reduction != at::Reduction::None ? loss : loss.squeeze(0)};
}

}  // namespace elixir::capture
