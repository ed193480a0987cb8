// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of convolutions.
#include <ATen/native/ConvUtils.h>

#include "capture/geometry.h"
#include "capture/geometry_mask.h"

namespace elixir::capture {
namespace {

using program::Target;

at::MemoryFormat format_of(const at::Tensor& input, const at::Tensor& weight) {
  if (input.dim() != 4) return at::MemoryFormat::Contiguous;
  return at::native::mkldnn_conv_use_channels_last(input, weight) ? at::MemoryFormat::ChannelsLast
                                                                  : at::MemoryFormat::Contiguous;
}

/// input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
Values convolution(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  const at::Tensor weight = a[1].toTensor();
  const std::int64_t groups = a[8].toInt();
  const bool transposed = a[6].toBool();
  TORCH_CHECK(input.dim() == weight.dim(),
              "Expected ",
              weight.dim(),
              "D input to convolution, but got input of size: ",
              input.sizes());
  const std::int64_t channels = transposed ? weight.size(0) : weight.size(1) * groups;
  TORCH_CHECK(input.size(1) == channels,
              "Given groups=",
              groups,
              ", weight of size ",
              weight.sizes(),
              ", expected input",
              input.sizes(),
              " to have ",
              channels,
              " channels, but got ",
              input.size(1),
              " channels instead");
  const auto expand = [&](const Sizes& values) {
    const auto spatial = static_cast<std::size_t>(input.dim() - 2);
    return values.size() == 1 ? Sizes(spatial, values[0]) : values;
  };
  const Sizes stride = expand(a[3].toIntVector());
  const Sizes padding = expand(a[4].toIntVector());
  const Sizes dilation = expand(a[5].toIntVector());
  const auto sizes = transposed ? at::native::conv_input_size(input.sizes(),
                                                              weight.sizes(),
                                                              padding,
                                                              expand(a[7].toIntVector()),
                                                              stride,
                                                              dilation,
                                                              groups)
                                : at::native::conv_output_size(
                                      input.sizes(), weight.sizes(), padding, stride, dilation);
  for (const std::int64_t size : sizes) {
    TORCH_CHECK(size > 0, "Kernel size can't be greater than actual input size");
  }
  return {new_empty(sizes, input, std::nullopt, format_of(input, weight))};
}

/// grad, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
/// output_mask
Values convolution_backward(const Target&, const Values& a) {
  const at::Tensor input = a[1].toTensor();
  const at::Tensor weight = a[2].toTensor();
  const at::MemoryFormat format = format_of(input, weight);
  return by_mask(a[10],
                 {[&] { return new_empty(input.sizes(), input, std::nullopt, format); },
                  [&] { return new_empty(weight.sizes(), weight, std::nullopt, format); },
                  [&] { return new_empty({a[0].toTensor().size(1)}, weight); }});
}

}  // namespace

const Rules kConvolutionRules = {
    {"aten::convolution", &convolution},
    {"aten::_convolution", &convolution},
    {"aten::convolution_backward", &convolution_backward},
};

}  // namespace elixir::capture
