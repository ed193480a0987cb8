// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of pooling and its reverse.
#include <algorithm>

#include <ATen/native/Pool.h>

#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

/// The leading dimensions of the input, then `spatial`. `batched` is the number of dimensions with
/// a batch.
Sizes with_spatial(const at::Tensor& input,
                   const Sizes& spatial,
                   std::int64_t batched,
                   const char* op) {
  TORCH_CHECK(input.dim() == batched || input.dim() == batched - 1,
              op,
              ": Expected ",
              batched - 1,
              "D or ",
              batched,
              "D tensor, but got ",
              input.sizes());
  check_count(spatial.size(), static_cast<std::size_t>(batched - 2), "output_size");
  Sizes sizes = input.sizes().vec();
  std::copy(
      spatial.begin(), spatial.end(), sizes.end() - static_cast<std::ptrdiff_t>(spatial.size()));
  return sizes;
}

Values adaptive_average_2d(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes sizes = with_spatial(input, call.integers("output_size"), 4, "adaptive_avg_pool2d()");
  return {new_empty(sizes, input, std::nullopt, input.suggest_memory_format())};
}
/// CUDA allocates zeros, and uses the input's format only if there are any elements.
Values adaptive_average_2d_backward(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {is_cuda(target) && input.numel() == 0 ? contiguous_like(input) : suggested_like(input)};
}

Values adaptive_average_3d(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {new_empty(with_spatial(input, call.integers("output_size"), 5, "adaptive_avg_pool3d()"),
                    input)};
}

Sizes expanded(const Call& call, const char* name, const Sizes& otherwise) {
  constexpr std::size_t kDimensions = 3;
  Sizes values = call.integers(name);
  if (values.empty() && !otherwise.empty()) return otherwise;
  TORCH_CHECK(values.size() == 1 || values.size() == kDimensions,
              "max_pool3d: ",
              name,
              " must either be a single int, or a tuple of three ints");
  return values.size() == 1 ? Sizes(kDimensions, values[0]) : values;
}

Values max_3d(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes kernel = expanded(call, "kernel_size", {});
  const Sizes stride = expanded(call, "stride", kernel);
  const Sizes padding = expanded(call, "padding", {});
  const Sizes dilation = expanded(call, "dilation", {});
  check_all_positive(kernel, "kernel size");
  check_all_positive(stride, "stride");
  check_all_positive(dilation, "dilation");
  Sizes spatial;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t size = input.size(input.dim() - 3 + static_cast<std::int64_t>(i));
    spatial.push_back(at::native::pooling_output_shape<std::int64_t>(
        size, kernel[i], padding[i], stride[i], dilation[i], call.flag("ceil_mode")));
  }
  const Sizes sizes = with_spatial(input, spatial, 5, "max_pool3d_with_indices()");
  for (const std::int64_t size : spatial) {
    TORCH_CHECK(size >= 1, "max_pool3d(): the output is too small for input ", input.sizes());
  }
  const at::MemoryFormat format =
      input.dim() == 5 ? input.suggest_memory_format() : at::MemoryFormat::Contiguous;
  return {new_empty(sizes, input, std::nullopt, format),
          new_empty(sizes, input, at::kLong, format)};
}

Values unpool_2d(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes sizes = with_spatial(input, call.integers("output_size"), 4, "max_unpool2d()");
  return {
      new_empty(sizes,
                input,
                std::nullopt,
                is_cuda(target) ? at::MemoryFormat::Contiguous : input.suggest_memory_format())};
}
Values unpool_3d(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {new_empty(with_spatial(input, call.integers("output_size"), 5, "max_unpool3d()"), input)};
}

}  // namespace

const Rules kPoolingRules = {
    {"aten::_adaptive_avg_pool2d", &adaptive_average_2d},
    {"aten::_adaptive_avg_pool2d_backward", &adaptive_average_2d_backward},
    {"aten::_adaptive_avg_pool3d", &adaptive_average_3d},
    {"aten::_adaptive_avg_pool3d_backward", &contiguous_as_self},
    {"aten::fractional_max_pool3d_backward", &contiguous_as_self},
    {"aten::max_pool3d_with_indices", &max_3d},
    {"aten::max_pool3d_with_indices_backward", &suggested_as_self},
    {"aten::max_unpool2d", &unpool_2d},
    {"aten::max_unpool3d", &unpool_3d},
};

}  // namespace elixir::capture
