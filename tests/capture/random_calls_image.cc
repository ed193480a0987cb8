// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "random_calls.h"

#include <algorithm>
#include <array>

#include <ATen/ops/convolution.h>
#include <ATen/ops/im2col.h>
#include <ATen/ops/max_pool3d_with_indices.h>

namespace elixir::capture {
namespace {

/// (N, C, spatial…), or sometimes, if `unbatched`, (C, spatial…).
Sizes image(Random& random, std::size_t spatial, bool unbatched = true) {
  Sizes sizes;
  if (!unbatched || random.number(0, 3) > 0) sizes.push_back(random.number(1, 3));
  sizes.push_back(random.number(1, 4));
  for (std::size_t i = 0; i < spatial; ++i) sizes.push_back(random.number(4, 7));
  return sizes;
}

struct Convolution {
  at::Tensor input, weight, bias;
  Sizes stride, padding, dilation, output_padding;
  bool transposed;
  std::int64_t groups;

  explicit Convolution(Random& random) : transposed(random.coin()), groups(random.number(1, 3)) {
    const auto spatial = static_cast<std::size_t>(random.number(1, 3));
    // The CPU decides which of them oneDNN runs. LibTorch's own kernels run the others.
    constexpr std::array kTypes{at::kFloat, at::kBFloat16, at::kHalf, at::kDouble};
    const at::ScalarType dtype = kTypes[static_cast<std::size_t>(random.number(0, 3))];
    const bool large = random.space().most_elements > 0 && spatial < 3 && random.coin();
    const std::int64_t in = random.number(1, large ? 64 : 3) * groups;
    const std::int64_t out = random.number(1, large ? 64 : 3) * groups;
    Sizes input_sizes{random.number(1, 3), in};
    Sizes weight_sizes{transposed ? in : out, (transposed ? out : in) / groups};
    for (std::size_t i = 0; i < spatial; ++i) {
      input_sizes.push_back(random.number(4, large ? 64 : 7));
      weight_sizes.push_back(random.number(1, 3));
      stride.push_back(random.number(1, 2));
      padding.push_back(random.number(0, 1));
      dilation.push_back(random.number(1, 2));
      output_padding.push_back(transposed ? random.number(0, stride.back() - 1) : 0);
    }
    if (spatial == 3) weight_sizes.back() = 2;  // for 1, LibTorch's choice depends on its threads
    input = random.tensor(input_sizes, dtype);
    weight = random.tensor(weight_sizes, dtype);
    if (random.coin()) bias = random.plain({out}, dtype);
  }
  [[nodiscard]] c10::IValue bias_or_none() const {
    return bias.defined() ? c10::IValue(bias) : kNone;
  }
};

Values convolution(Random& random) {
  const Convolution a(random);
  return {a.input,
          a.weight,
          a.bias_or_none(),
          a.stride,
          a.padding,
          a.dilation,
          a.transposed,
          a.output_padding,
          a.groups};
}

}  // namespace

RandomCalls random_image_calls() {
  RandomCalls calls{
      {"aten::convolution", convolution},
      {"aten::_convolution",
       [](Random& random) {
         Values values = convolution(random);
         for (const bool flag : {false, false, true, true}) values.emplace_back(flag);
         return values;
       }},
      {"aten::convolution_backward",
       [](Random& random) {
         const Convolution a(random);
         const at::Tensor output =
             at::convolution(a.input,
                             a.weight,
                             a.bias.defined() ? std::optional(a.bias) : std::nullopt,
                             a.stride,
                             a.padding,
                             a.dilation,
                             a.transposed,
                             a.output_padding,
                             a.groups);
         return Values{random.tensor(output.sizes().vec(), output.scalar_type()),
                       a.input,
                       a.weight,
                       a.bias.defined() ? c10::IValue(a.bias.sizes().vec()) : kNone,
                       a.stride,
                       a.padding,
                       a.dilation,
                       a.transposed,
                       a.output_padding,
                       a.groups,
                       c10::List<bool>({random.coin(), true, a.bias.defined()})};
       }},
      {"aten::_adaptive_avg_pool2d",
       [](Random& random) {
         return Values{random.tensor(image(random, 2), random.floating()), random.sizes(2)};
       }},
      {"aten::_adaptive_avg_pool2d_backward",
       [](Random& random) {
         const Sizes sizes = image(random, 2);
         Sizes output = sizes;
         output.back() = 2;
         const at::ScalarType dtype = random.floating();
         return Values{random.tensor(output, dtype), random.tensor(sizes, dtype)};
       }},
      {"aten::_adaptive_avg_pool3d",
       [](Random& random) {
         return Values{random.tensor(image(random, 3), random.floating()), random.sizes(3)};
       }},
      {"aten::_adaptive_avg_pool3d_backward",
       [](Random& random) {
         const Sizes sizes = image(random, 3);
         Sizes output = sizes;
         output.back() = 2;
         const at::ScalarType dtype = random.floating();
         return Values{random.tensor(output, dtype), random.tensor(sizes, dtype)};
       }},
      {"aten::max_pool3d_with_indices",
       [](Random& random) {
         const bool strided = random.coin();
         return Values{random.tensor(image(random, 3), random.floating()),
                       random.coin() ? Sizes{2} : Sizes{2, 3, 2},
                       strided ? Sizes{random.number(1, 2)} : Sizes{},
                       Sizes{random.number(0, 1)},
                       Sizes{random.number(1, 2)},
                       random.coin()};
       }},
      {"aten::max_pool3d_with_indices_backward",
       [](Random& random) {
         const at::Tensor input = random.tensor(image(random, 3), random.floating());
         const auto [output, indices] = at::max_pool3d_with_indices(input, {2, 2, 2});
         return Values{random.tensor(output.sizes().vec(), output.scalar_type()),
                       input,
                       Sizes{2, 2, 2},
                       Sizes{},
                       Sizes{0, 0, 0},
                       Sizes{1, 1, 1},
                       false,
                       indices};
       }},
      {"aten::fractional_max_pool3d_backward",
       [](Random& random) {
         const at::Tensor input = random.tensor(image(random, 3), at::kFloat);
         Sizes sizes = input.sizes().vec();
         std::fill(sizes.end() - 3, sizes.end(), 2);
         return Values{random.tensor(sizes, at::kFloat),
                       input,
                       Sizes{2, 2, 2},
                       Sizes{2, 2, 2},
                       random.indices(sizes, 4)};
       }},
      {"aten::max_unpool2d",
       [](Random& random) {
         const Sizes sizes = image(random, 2);
         return Values{random.tensor(sizes, random.floating()),
                       random.tensor(sizes, at::kLong),
                       Sizes{9, 10}};
       }},
      {"aten::max_unpool3d",
       [](Random& random) {
         const Sizes sizes = image(random, 3);
         const Sizes whole{
             sizes[sizes.size() - 3] * 2, sizes[sizes.size() - 2] * 2, sizes.back() * 2};
         return Values{random.tensor(sizes, random.floating()),
                       random.tensor(sizes, at::kLong),
                       whole,
                       Sizes{2, 2, 2},
                       Sizes{0, 0, 0}};
       }},
      {"aten::reflection_pad2d",
       [](Random& random) {
         Sizes padding;
         for (int i = 0; i < 4; ++i) padding.push_back(random.number(0, 3));
         return Values{random.tensor(image(random, 2), random.floating()), padding};
       }},
      {"aten::replication_pad2d",
       [](Random& random) {
         Sizes padding;
         for (int i = 0; i < 4; ++i) padding.push_back(random.number(0, 5));
         return Values{random.tensor(image(random, 2), random.floating()), padding};
       }},
      {"aten::im2col",
       [](Random& random) {
         return Values{random.tensor(image(random, 2), random.floating()),
                       Sizes{2, random.number(1, 3)},
                       Sizes{1, random.number(1, 2)},
                       Sizes{random.number(0, 1), 0},
                       Sizes{random.number(1, 2), 2}};
       }},
      {"aten::col2im",
       [](Random& random) {
         const Sizes sizes = image(random, 2);
         const at::Tensor input = random.plain(sizes, random.floating());
         const Sizes kernel{2, random.number(1, 3)};
         const Sizes stride{random.number(1, 2), 2};
         const at::Tensor columns = at::im2col(input, kernel, {1, 1}, {0, 1}, stride);
         return Values{random.tensor(columns.sizes().vec(), columns.scalar_type()),
                       Sizes{sizes[sizes.size() - 2], sizes.back()},
                       kernel,
                       Sizes{1, 1},
                       Sizes{0, 1},
                       stride};
       }},
      {"aten::channel_shuffle",
       [](Random& random) {
         Sizes sizes = image(random, 2, false);
         sizes[1] = 4;
         return Values{random.tensor(sizes, random.floating()), 2};
       }},
      {"aten::native_channel_shuffle", [](Random& random) {
         Sizes sizes = image(random, 2, false);
         sizes[1] = 4;
         return Values{random.tensor(sizes, random.floating()), 2};
       }}};
  for (const std::size_t spatial : {std::size_t{2}, std::size_t{3}}) {
    const std::string op = "aten::grid_sampler_" + std::to_string(spatial) + "d";
    const auto arguments = [spatial](Random& random) {
      const Sizes sizes = image(random, spatial, false);
      Sizes grid{sizes[0]};
      for (std::size_t i = 0; i < spatial; ++i) grid.push_back(random.number(1, 4));
      grid.push_back(static_cast<std::int64_t>(spatial));
      const at::ScalarType dtype = random.coin() ? at::kFloat : at::kDouble;
      return Values{random.tensor(sizes, dtype),
                    random.tensor(grid, dtype),
                    random.number(0, 1),
                    random.number(0, 2),
                    random.coin()};
    };
    calls.push_back({op, arguments});
    calls.push_back({op + "_backward", [arguments](Random& random) {
                       Values values = arguments(random);
                       const at::Tensor input = values[0].toTensor();
                       Sizes sizes = values[1].toTensor().sizes().vec();
                       sizes.pop_back();
                       sizes.insert(sizes.begin() + 1, input.size(1));
                       values.insert(values.begin(), random.tensor(sizes, input.scalar_type()));
                       values.emplace_back(c10::List<bool>({random.coin(), true}));
                       return values;
                     }});
  }
  const auto padding_backward = [&](const char* op, std::size_t spatial) {
    calls.push_back(
        {op, [spatial](Random& random) {
           const Sizes sizes = image(random, spatial);
           Sizes output = sizes;
           Sizes padding;
           for (std::size_t i = 0; i < spatial; ++i) {
             padding.insert(padding.end(), {random.number(0, 2), random.number(0, 2)});
             output[output.size() - 1 - i] += padding[2 * i] + padding[2 * i + 1];
           }
           const at::ScalarType dtype = random.floating();
           return Values{random.tensor(output, dtype), random.tensor(sizes, dtype), padding};
         }});
  };
  padding_backward("aten::reflection_pad2d_backward", 2);
  padding_backward("aten::replication_pad2d_backward", 2);
  padding_backward("aten::replication_pad3d_backward", 3);
  return calls;
}

}  // namespace elixir::capture
