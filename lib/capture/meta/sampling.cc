// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of grid sampling, patches and shuffled channels.
#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

/// input: (N, C, spatial…); grid: (N, spatial…, coordinates)
Values grid_sampler(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("input");
  const at::Tensor grid = call.tensor("grid");
  check_at_least(input, 3, "grid_sampler() input");
  TORCH_CHECK(input.dim() == grid.dim(),
              "grid_sampler(): expected input and grid to have same number of dimensions, but got "
              "input with sizes ",
              input.sizes(),
              " and grid with sizes ",
              grid.sizes());
  TORCH_CHECK(input.size(0) == grid.size(0),
              "grid_sampler(): expected grid and input to have same batch size, but got input with "
              "sizes ",
              input.sizes(),
              " and grid with sizes ",
              grid.sizes());
  TORCH_CHECK(grid.size(-1) == input.dim() - 2,
              "grid_sampler(): expected grid to have size ",
              input.dim() - 2,
              " in last dimension, but got grid with sizes ",
              grid.sizes());
  Sizes sizes{input.size(0), input.size(1)};
  for (std::int64_t d = 1; d < grid.dim() - 1; ++d) sizes.push_back(grid.size(d));
  return {new_empty(sizes, input)};
}

/// The grid's gradient is always computed.
Values grid_sampler_backward(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("input");
  const bool wanted = call.flags("output_mask")[0];
  return {wanted ? contiguous_like(input) : at::Tensor(), contiguous_like(call.tensor("grid"))};
}

struct Window {
  Sizes kernel, dilation, padding, stride;
  /// The number of window positions along dimension `i`.
  [[nodiscard]] std::int64_t count(std::size_t i, std::int64_t size) const {
    const std::int64_t reach = product_of(dilation[i], kernel[i] - 1, "a dilated kernel") + 1;
    const std::int64_t padded = sum_of(size, product_of(2, padding[i], "padding"), "padding");
    return (padded - reach) / stride[i] + 1;
  }
  explicit Window(const Call& call)
      : kernel(pair(call, "kernel_size")),
        dilation(pair(call, "dilation")),
        padding(pair(call, "padding")),
        stride(pair(call, "stride")) {
    check_all_positive(kernel, "kernel size");
    check_all_positive(dilation, "dilation");
    check_none_negative(padding, "padding");
    check_all_positive(stride, "stride");
  }
  /// The number of elements of a window, checked for overflow.
  [[nodiscard]] std::int64_t elements() const {
    return product_of(kernel[0], kernel[1], "kernel size");
  }

 private:
  static Sizes pair(const Call& call, const char* name) {
    Sizes values = call.integers(name);
    if (values.size() == 1) values.push_back(values[0]);
    TORCH_CHECK(
        values.size() == 2, "It is expected ", name, " equals to 2, but got size ", values.size());
    return values;
  }
};

/// self: (C, H, W) or (N, C, H, W)
Values im2col(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Window window(call);
  TORCH_CHECK(input.dim() == 3 || input.dim() == 4,
              "Expected 3D or 4D (batch mode) tensor for input, but got: ",
              input.sizes());
  const std::int64_t down = window.count(0, input.size(-2));
  const std::int64_t across = window.count(1, input.size(-1));
  const std::int64_t blocks = product_of(down, across, "sliding blocks");
  TORCH_CHECK(down > 0 && across > 0,
              "Given input with spatial size (",
              input.size(-2),
              ", ",
              input.size(-1),
              "), calculated shape of the array of sliding blocks as its components must be at "
              "least one");
  Sizes sizes = input.sizes().slice(0, static_cast<std::size_t>(input.dim() - 3)).vec();
  sizes.push_back(product_of(input.size(-3), window.elements(), "channels"));
  sizes.push_back(blocks);
  return {resized_from(input, sizes)};
}

/// self: (C k k, L) or (N, C k k, L)
Values col2im(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes output = call.integers("output_size");
  const Window window(call);
  check_count(output.size(), 2, "output_size");
  check_all_positive(output, "output_size");
  TORCH_CHECK(input.dim() == 2 || input.dim() == 3,
              "Expected 2D or 3D (batch mode) tensor for input, but got: ",
              input.sizes());
  TORCH_CHECK(input.size(-2) % window.elements() == 0,
              "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
              "but got input.size(1)=",
              input.size(-2));
  const std::int64_t blocks =
      product_of(window.count(0, output[0]), window.count(1, output[1]), "sliding blocks");
  TORCH_CHECK(input.size(-1) == blocks,
              "Given output_size=",
              c10::IntArrayRef(output),
              ", expected size of input's dimension 2 to match the calculated number of sliding "
              "blocks ",
              blocks,
              ", but got input.size(2)=",
              input.size(-1));
  Sizes sizes = input.sizes().slice(0, static_cast<std::size_t>(input.dim() - 2)).vec();
  sizes.push_back(input.size(-2) / window.elements());
  sizes.insert(sizes.end(), output.begin(), output.end());
  return {resized_from(input, sizes)};
}

Values channel_shuffle(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const std::int64_t groups = call.integer("groups");
  TORCH_CHECK(input.dim() > 2,
              "channel_shuffle expects input with > 2 dims, but got input with sizes ",
              input.sizes());
  TORCH_CHECK(groups > 0,
              "Number of groups to divide channels in must be positive. Value of groups:",
              groups);
  TORCH_CHECK(input.size(1) % groups == 0,
              "Number of channels must be divisible by groups. Got ",
              input.size(1),
              " channels and ",
              groups,
              " groups.");
  return {is_cuda(target) ? contiguous_like(input) : suggested_like(input)};
}

}  // namespace

const Rules kSamplingRules = {
    {"aten::channel_shuffle", &channel_shuffle},
    {"aten::col2im", &col2im},
    {"aten::grid_sampler_2d", &grid_sampler},
    {"aten::grid_sampler_2d_backward", &grid_sampler_backward},
    {"aten::grid_sampler_3d", &grid_sampler},
    {"aten::grid_sampler_3d_backward", &grid_sampler_backward},
    {"aten::im2col", &im2col},
    {"aten::native_channel_shuffle", &channel_shuffle},
};

}  // namespace elixir::capture
