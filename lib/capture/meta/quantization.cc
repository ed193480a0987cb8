// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of fake quantisation, that is, quantisation-aware training in floating point.
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

/// The rounded values, and a mask of the values inside the range.
Values with_mask(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {preserved_like(input), preserved_like(input, at::kBool)};
}

/// One sum each for the whole tensor.
Values learnable_tensor_backward(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {preserved_like(input), new_empty({1}, input), new_empty({1}, input)};
}
/// One sum each per channel.
Values learnable_channel_backward(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes channels = input.dim() == 1 ? Sizes{} : call.tensor("scale").sizes().vec();
  return {preserved_like(input), new_empty(channels, input), new_empty(channels, input)};
}

}  // namespace

const Rules kQuantizationRules = {
    {"aten::_fake_quantize_learnable_per_channel_affine", &preserved_as_self},
    {"aten::_fake_quantize_learnable_per_channel_affine_backward", &learnable_channel_backward},
    {"aten::_fake_quantize_learnable_per_tensor_affine", &preserved_as_self},
    {"aten::_fake_quantize_learnable_per_tensor_affine_backward", &learnable_tensor_backward},
    {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", &with_mask},
    {"aten::_fused_moving_avg_obs_fq_helper", &with_mask},
    {"aten::fake_quantize_per_channel_affine_cachemask", &with_mask},
    {"aten::fake_quantize_per_tensor_affine_cachemask", &with_mask},
};

}  // namespace elixir::capture
