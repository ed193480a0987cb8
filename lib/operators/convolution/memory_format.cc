// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/convolution/memory_format.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "operators/scratch/script_builder.h"

namespace elixir::operators {
namespace {

using program::TensorRef;

/// The dimensions of a tensor whose channels come last, innermost first: C, W, H, [D,] N.
std::vector<std::size_t> channels_last_order(std::size_t rank) {
  std::vector<std::size_t> order{1};
  for (std::size_t d = rank - 1; d > 1; --d) order.push_back(d);
  order.push_back(0);
  return order;
}

bool has_format(const TensorRef& tensor) {
  return tensor.sizes.size() == kImageRank || tensor.sizes.size() == kVolumeRank;
}

}  // namespace

bool suggests_channels_last(const TensorRef& tensor) {
  if (!has_format(tensor) || tensor.strides[1] == 0) return false;
  std::int64_t least = 0;
  for (const std::size_t d : channels_last_order(tensor.sizes.size())) {
    if (tensor.sizes[d] == 0 || tensor.strides[d] < least) return false;
    // A tensor of N numbers has the same strides in either format.
    if (d == 0 && least == tensor.strides[1]) return false;
    least = tensor.strides[d];
    if (tensor.sizes[d] > 1) least *= tensor.sizes[d];
  }
  return true;
}

bool is_dense_in(const TensorRef& tensor, bool channels_last) {
  if (!channels_last) return is_contiguous(tensor);
  if (!has_format(tensor)) return false;
  std::int64_t expected = 1;
  for (const std::size_t d : channels_last_order(tensor.sizes.size())) {
    if (tensor.sizes[d] == 1) continue;
    if (tensor.strides[d] != expected) return false;
    expected *= tensor.sizes[d];
  }
  return true;
}

TensorRef dense_in(const TensorRef& tensor, bool channels_last) {
  if (is_dense_in(tensor, channels_last)) return tensor;
  TensorRef dense = in_row_major_order(tensor.sizes, tensor.dtype);
  if (!channels_last || !has_format(tensor)) return dense;
  std::int64_t stride = 1;
  for (const std::size_t d : channels_last_order(tensor.sizes.size())) {
    dense.strides[d] = stride;
    stride *= tensor.sizes[d];
  }
  return dense;
}

}  // namespace elixir::operators
