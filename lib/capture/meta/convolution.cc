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

/// The parameters of a convolution or its backward, checked.
struct Parameters {
  Sizes stride, padding, dilation, output_padding;
  bool transposed;
  std::int64_t groups;

  Parameters(const Call& call, const at::Tensor& input, const at::Tensor& weight)
      : stride(expanded(call, "stride", input)),
        padding(expanded(call, "padding", input)),
        dilation(expanded(call, "dilation", input)),
        output_padding(expanded(call, "output_padding", input)),
        transposed(call.flag("transposed")),
        groups(call.integer("groups")) {
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
  static Sizes expanded(const Call& call, const char* name, const at::Tensor& input) {
    TORCH_CHECK(input.dim() >= 3,
                "Expected at least 3D input to convolution, but got input of size: ",
                input.sizes());
    const Sizes values = call.integers(name);
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

/// Whether the CPU's oneDNN runs a convolution (ConvParams::use_mkldnn). If not, LibTorch's own
/// kernels do.
bool onednn_takes(const Target& target,
                  const at::Tensor& input,
                  const at::Tensor& weight,
                  const Parameters& p) {
  constexpr std::int64_t kSmallFilter = 3;
  constexpr std::int64_t kSmallInput = 20480;
  const auto above_one = [](std::int64_t value) { return value > 1; };
  for (std::size_t i = 0; p.transposed && i < p.output_padding.size(); ++i) {
    if (p.output_padding[i] >= p.stride[i]) return false;
  }
  if (input.scalar_type() == at::kBFloat16) return program::onednn_computes_in_bf16(target.isa);
  if (input.scalar_type() == at::kHalf) return program::onednn_computes_in_fp16(target.isa);
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

constexpr std::int64_t kImages = 4;

/// The format `format` if one of them suggests it, otherwise contiguous.
MemoryFormat format_of_either(const at::Tensor& input,
                              const at::Tensor& weight,
                              MemoryFormat format) {
  const bool suggested =
      input.suggest_memory_format() == format || weight.suggest_memory_format() == format;
  return suggested ? format : MemoryFormat::Contiguous;
}

/// Formats of LibTorch's own CPU kernels for images. They run group by group, and the result gets
/// the format that the groups' results suggest. With one channel per group, or one pixel, that may
/// differ from the requested format.
class OwnImageFormats {
 public:
  OwnImageFormats(const at::Tensor& input, const at::Tensor& weight, const Parameters& p)
      : groups_(p.groups) {
    const MemoryFormat whole = format_of_either(input, weight, MemoryFormat::ChannelsLast);
    input_ = first_group(input.contiguous(whole), 1);
    weight_ = first_group(weight.contiguous(whole), 0);
    format_ = format_of_either(input_, weight_, MemoryFormat::ChannelsLast);
    const bool dilated = std::any_of(
        p.dilation.begin(), p.dilation.end(), [](std::int64_t value) { return value > 1; });
    of_weight_ = dilated && !p.transposed ? format_ : weight_.suggest_memory_format();
  }
  [[nodiscard]] MemoryFormat of_output(Sizes sizes) const {
    sizes[1] /= groups_;
    return of_whole(sizes, format_);
  }
  [[nodiscard]] MemoryFormat of_input() const { return of_whole(input_.sizes(), format_); }
  [[nodiscard]] MemoryFormat of_weight() const { return of_whole(weight_.sizes(), of_weight_); }

 private:
  std::int64_t groups_;
  at::Tensor input_, weight_;  // of the first group
  MemoryFormat format_, of_weight_;

  [[nodiscard]] at::Tensor first_group(const at::Tensor& tensor, std::int64_t dimension) const {
    if (groups_ == 1) return tensor;
    return tensor.narrow(dimension, 0, tensor.size(dimension) / groups_)
        .contiguous(tensor.suggest_memory_format());
  }
  [[nodiscard]] MemoryFormat of_whole(at::IntArrayRef of_group, MemoryFormat format) const {
    if (groups_ == 1) return format;
    return new_empty(of_group, input_, std::nullopt, format).suggest_memory_format();
  }
};

/// The format of a library's results and gradients, or of LibTorch's own kernels for volumes, which
/// have only one format.
MemoryFormat format_of(const Target& target,
                       const at::Tensor& input,
                       const at::Tensor& weight,
                       const Parameters& p) {
  const MemoryFormat images = format_of_either(input, weight, MemoryFormat::ChannelsLast);
  if (input.dim() == kImages && images == MemoryFormat::ChannelsLast) return images;
  const bool library =
      is_cuda(target) ? input.scalar_type() != at::kDouble : onednn_takes(target, input, weight, p);
  return input.dim() > kImages && library
             ? format_of_either(input, weight, MemoryFormat::ChannelsLast3d)
             : MemoryFormat::Contiguous;
}

/// Convolutions of lines are convolutions of images of height 1, made contiguous first.
bool is_line(const at::Tensor& input) {
  return input.dim() == 3;
}
at::Tensor as_image(const at::Tensor& tensor) {
  return tensor.unsqueeze(2);
}
/// The tensors that determine the formats of a convolution.
struct Images {
  at::Tensor input, weight;

  Images(const at::Tensor& x, const at::Tensor& w)
      : input(is_line(x) ? as_image(x.contiguous()) : x), weight(is_line(x) ? as_image(w) : w) {}

  [[nodiscard]] bool by_own_kernels(const Target& target, const Parameters& p) const {
    return input.dim() == kImages && !is_cuda(target) && !onednn_takes(target, input, weight, p);
  }
};
Sizes image_sizes(const at::Tensor& like, Sizes sizes) {
  if (is_line(like)) sizes.insert(sizes.begin() + 2, 1);
  return sizes;
}
at::Tensor made(const Sizes& sizes, const at::Tensor& like, MemoryFormat format) {
  const at::Tensor image = new_empty(image_sizes(like, sizes), like, std::nullopt, format);
  return is_line(like) ? image.squeeze(2) : image;
}

/// check_input_same_type_as_parameters
void check_dtypes(const Call& call) {
  const at::ScalarType input = call.tensor("input").scalar_type();
  const auto check = [input](const char* what, const at::Tensor& tensor) {
    TORCH_CHECK(!tensor.defined() || tensor.scalar_type() == input,
                "Input type (",
                input,
                ") and ",
                what,
                " type (",
                tensor.scalar_type(),
                ") should be the same");
  };
  check("weight", call.tensor("weight"));
  check("bias", call.tensor_or_undefined("bias"));
}

Values convolution(const Target& target, const Call& call) {
  check_dtypes(call);
  const at::Tensor input = call.tensor("input");
  const at::Tensor weight = call.tensor("weight");
  const Parameters p(call, input, weight);
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
  const bool own_transposed_kernel = p.transposed && p.groups == 1 && input.dim() > kImages &&
                                     !is_cuda(target) && !onednn_takes(target, input, weight, p);
  if (own_transposed_kernel) return {resized_from(input, sizes)};
  const Sizes result(sizes.begin(), sizes.end());
  const Images images(input, weight);
  const MemoryFormat format =
      images.by_own_kernels(target, p)
          ? OwnImageFormats(images.input, images.weight, p).of_output(image_sizes(input, result))
          : format_of(target, images.input, images.weight, p);
  return {made(result, input, format)};
}

Values convolution_backward(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("input");
  const at::Tensor weight = call.tensor("weight");
  const Parameters p(call, input, weight);
  const Images images(input, weight);
  MemoryFormat of_input = MemoryFormat::Contiguous;
  MemoryFormat of_weight = MemoryFormat::Contiguous;
  if (images.by_own_kernels(target, p)) {
    const OwnImageFormats own(images.input, images.weight, p);
    of_input = own.of_input();
    of_weight = own.of_weight();
  } else {
    of_input = of_weight = format_of(target, images.input, images.weight, p);
  }
  return by_mask(call.flags("output_mask"),
                 {[&] { return made(input.sizes().vec(), input, of_input); },
                  [&] { return made(weight.sizes().vec(), weight, of_weight); },
                  [&] { return new_empty({call.tensor("grad_output").size(1)}, weight); }});
}

}  // namespace

const Rules kConvolutionRules = {
    {"aten::convolution", &convolution},
    {"aten::_convolution", &convolution},
    {"aten::convolution_backward", &convolution_backward},
};

}  // namespace elixir::capture
