// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of convolutions.
#include <algorithm>

#include <ATen/native/ConvUtils.h>

#include "capture/meta/checks.h"
#include "capture/meta/mask.h"
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

using at::MemoryFormat;

/// Where the arguments of a convolution are; its backward has one less before the stride.
struct Parameters {
  Sizes stride, padding, dilation, output_padding;
  bool transposed;
  std::int64_t groups;

  Parameters(const Values& a, std::size_t first, const at::Tensor& input, const at::Tensor& weight)
      : stride(expanded(a[first], input, "stride")),
        padding(expanded(a[first + 1], input, "padding")),
        dilation(expanded(a[first + 2], input, "dilation")),
        output_padding(expanded(a[first + 4], input, "output_padding")),
        transposed(a[first + 3].toBool()),
        groups(a[first + 5].toInt()) {
    check_none_negative(padding, "padding");
    check_none_negative(output_padding, "output_padding");
    for (const std::int64_t value : stride) {
      TORCH_CHECK(value > 0, "non-positive stride is not supported");
    }
    check_all_positive(dilation, "dilation");
    TORCH_CHECK(groups > 0, "non-positive groups is not supported");
    TORCH_CHECK(input.dim() == weight.dim(),
                "Expected ",
                weight.dim(),
                "D input to convolution, but got input of size: ",
                input.sizes());
    TORCH_CHECK(weight.size(0) >= groups,
                "Given groups=",
                groups,
                ", expected weight to be at least ",
                groups,
                " at dimension 0, but got weight of size ",
                weight.sizes(),
                " instead");
  }

 private:
  static Sizes expanded(const c10::IValue& value, const at::Tensor& input, const char* name) {
    TORCH_CHECK(input.dim() >= 3,
                "Expected at least 3D input to convolution, but got input of size: ",
                input.sizes());
    const Sizes values = value.toIntVector();
    const auto spatial = static_cast<std::size_t>(input.dim() - 2);
    TORCH_CHECK(values.size() == 1 || values.size() == spatial,
                "expected ",
                name,
                " to be a single integer value or a list of ",
                spatial,
                " values to match the convolution dimensions, but got ",
                name,
                "=",
                values);
    return values.size() == 1 ? Sizes(spatial, values[0]) : values;
  }
};

/// Whether oneDNN takes a convolution of volumes; LibTorch's own kernel, the alternative, knows
/// contiguous ones only. (Of images both know both formats.)
bool onednn_takes_volume(const at::Tensor& input, const at::Tensor& weight, const Parameters& p) {
  constexpr std::int64_t kSmallFilter = 3;
  constexpr std::int64_t kSmallInput = 20480;
  const auto above_one = [](std::int64_t value) { return value > 1; };
  for (std::size_t i = 0; p.transposed && i < p.output_padding.size(); ++i) {
    if (p.output_padding[i] >= p.stride[i]) return false;
  }
  if (input.scalar_type() == at::kBFloat16 || input.scalar_type() == at::kHalf) return true;
  if (input.scalar_type() != at::kFloat) return false;
  const bool strided = std::any_of(p.stride.begin(), p.stride.end(), above_one);
  const bool dilated = std::any_of(p.dilation.begin(), p.dilation.end(), above_one);
  constexpr bool kSeveralThreads = true;
  const bool worth_it =
      strided || dilated || weight.size(-1) != 1 || weight.size(-2) != 1 || kSeveralThreads;
  return worth_it &&
         (p.groups > 1 || (weight.size(-1) > kSmallFilter && weight.size(-2) > kSmallFilter) ||
          input.size(0) > 1 ||
          input.size(0) * input.size(1) * input.size(2) * input.size(3) > kSmallInput);
}

/// Of results and gradients: channels last if input or weight suggest it.
MemoryFormat format_of(const Target& target,
                       const at::Tensor& input,
                       const at::Tensor& weight,
                       const Parameters& p) {
  const auto either = [&](MemoryFormat format) {
    return input.suggest_memory_format() == format || weight.suggest_memory_format() == format;
  };
  constexpr std::int64_t kImages = 4;
  if (input.dim() == kImages && either(MemoryFormat::ChannelsLast))
    return MemoryFormat::ChannelsLast;
  const bool library =
      is_cuda(target) ? input.scalar_type() != at::kDouble : onednn_takes_volume(input, weight, p);
  if (input.dim() > kImages && library && either(MemoryFormat::ChannelsLast3d)) {
    return MemoryFormat::ChannelsLast3d;
  }
  return MemoryFormat::Contiguous;
}

/// Convolutions of lines are those of images of height 1, made contiguous first.
bool is_line(const at::Tensor& input) {
  return input.dim() == 3;
}
at::Tensor as_image(const at::Tensor& tensor) {
  return tensor.unsqueeze(2);
}
MemoryFormat format_as_image(const Target& target,
                             const at::Tensor& input,
                             const at::Tensor& weight,
                             const Parameters& p) {
  return is_line(input) ? format_of(target, as_image(input.contiguous()), as_image(weight), p)
                        : format_of(target, input, weight, p);
}
at::Tensor made(Sizes sizes, const at::Tensor& like, MemoryFormat format) {
  if (!is_line(like)) return new_empty(sizes, like, std::nullopt, format);
  sizes.insert(sizes.begin() + 2, 1);
  return new_empty(sizes, like, std::nullopt, format).squeeze(2);
}

/// input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
Values convolution(const Target& target, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  const at::Tensor weight = a[1].toTensor();
  const Parameters p(a, 3, input, weight);
  const std::int64_t channels = p.transposed ? weight.size(0) : weight.size(1) * p.groups;
  TORCH_CHECK(input.size(1) == channels,
              "Given groups=",
              p.groups,
              ", weight of size ",
              weight.sizes(),
              ", expected input",
              input.sizes(),
              " to have ",
              channels,
              " channels, but got ",
              input.size(1),
              " channels instead");
  const auto sizes = p.transposed
                         ? at::native::conv_input_size(input.sizes(),
                                                       weight.sizes(),
                                                       p.padding,
                                                       p.output_padding,
                                                       p.stride,
                                                       p.dilation,
                                                       p.groups)
                         : at::native::conv_output_size(
                               input.sizes(), weight.sizes(), p.padding, p.stride, p.dilation);
  for (const std::int64_t size : sizes) {
    TORCH_CHECK(size > 0, "Kernel size can't be greater than actual input size");
  }
  const bool own_transposed_kernel = p.transposed && p.groups == 1 && input.dim() > 4 &&
                                     !is_cuda(target) && !onednn_takes_volume(input, weight, p);
  if (own_transposed_kernel) return {resized_from(input, sizes)};
  return {made({sizes.begin(), sizes.end()}, input, format_as_image(target, input, weight, p))};
}

/// grad, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
/// output_mask
Values convolution_backward(const Target& target, const Values& a) {
  const at::Tensor input = a[1].toTensor();
  const at::Tensor weight = a[2].toTensor();
  const Parameters p(a, 4, input, weight);
  const MemoryFormat format = format_as_image(target, input, weight, p);
  return by_mask(a[10],
                 {[&] { return made(input.sizes().vec(), input, format); },
                  [&] { return made(weight.sizes().vec(), weight, format); },
                  [&] { return new_empty({a[0].toTensor().size(1)}, weight); }});
}

}  // namespace

const Rules kConvolutionRules = {
    {"aten::convolution", &convolution},
    {"aten::_convolution", &convolution},
    {"aten::convolution_backward", &convolution_backward},
};

}  // namespace elixir::capture
