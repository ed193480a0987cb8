// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The memory format that LibTorch sees in the strides of an image or a volume. By it cuDNN's
// convolutions choose between NCHW and NHWC, and copy what is in neither.
//
// Source: c10/core/MemoryFormat.h, is_channels_last_strides_*; ATen/native/ConvUtils.h.

#include <cstddef>

#include "program/program.h"

namespace elixir::operators {

/// Dimensions of a batch of sequences, of images, of volumes.
inline constexpr std::size_t kSequenceRank = 3, kImageRank = 4, kVolumeRank = 5;

/// Whether a tensor of four or five dimensions (N, C, [D,] H, W) has its strides in the order of a
/// tensor whose channels come last. It may have gaps. False for tensors of other ranks.
[[nodiscard]] bool suggests_channels_last(const program::TensorRef& tensor);

/// Whether its elements are one block, in order of the format.
[[nodiscard]] bool is_dense_in(const program::TensorRef& tensor, bool channels_last);

/// What `contiguous(format)` makes of it.
[[nodiscard]] program::TensorRef dense_in(const program::TensorRef& tensor, bool channels_last);

}  // namespace elixir::operators
