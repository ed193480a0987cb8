// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of padding by reflection and replication.
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

void check_image(const at::Tensor& input) {
  TORCH_CHECK(input.dim() == 3 || input.dim() == 4,
              "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
              "dimensions for input, but got: ",
              input.sizes());
}

/// Channels last stays on the CPU.
at::Tensor image_like(const Target& target, const at::Tensor& input, const Sizes& sizes) {
  const bool plain = is_cuda(target) || input.dim() == 3;
  return new_empty(sizes,
                   input,
                   std::nullopt,
                   plain ? at::MemoryFormat::Contiguous : input.suggest_memory_format());
}

/// self: (C, H, W) or (N, C, H, W); padding: left, right, top, bottom
Values reflection_2d(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes padding = call.integers("padding");
  constexpr std::size_t kSides = 4;
  TORCH_CHECK(padding.size() == kSides, "padding size is expected to be 4");
  check_image(input);
  Sizes sizes = input.sizes().vec();
  const auto grow = [&](std::size_t from_last, std::int64_t before, std::int64_t after) {
    std::int64_t& size = sizes[sizes.size() - from_last];
    TORCH_CHECK(before < size && after < size,
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                "but got: padding (",
                before,
                ", ",
                after,
                ") at dimension ",
                sizes.size() - from_last,
                " of input ",
                input.sizes());
    size += before + after;
  };
  grow(1, padding[0], padding[1]);
  grow(2, padding[2], padding[3]);
  return {image_like(target, input, sizes)};
}

/// The CPU keeps channels last, but LibTorch's Meta kernel ignores that.
Values replication_2d(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes padding = call.integers("padding");
  TORCH_CHECK(padding.size() == 4, "padding size is expected to be 4");
  check_image(input);
  Sizes sizes = input.sizes().vec();
  sizes[sizes.size() - 1] += padding[0] + padding[1];
  sizes[sizes.size() - 2] += padding[2] + padding[3];
  return {image_like(target, input, sizes)};
}

Values padding_backward(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {is_cuda(target) ? contiguous_like(input) : suggested_like(input)};
}

}  // namespace

const Rules kPaddingRules = {
    {"aten::reflection_pad2d", &reflection_2d},
    {"aten::reflection_pad2d_backward", &padding_backward},
    {"aten::replication_pad2d", &replication_2d},
    {"aten::replication_pad2d_backward", &padding_backward},
    {"aten::replication_pad3d_backward", &padding_backward},
};

}  // namespace elixir::capture
