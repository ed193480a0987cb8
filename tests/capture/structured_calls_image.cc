// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Pooling, padding, resizing, sampling.
#include "structured_calls.h"

#include <algorithm>
#include <utility>

namespace elixir::capture {
namespace {

/// An image of (batch, channel, spatial…); each spatial size is at least `least`.
Sizes image_sizes(Random& random, std::int64_t spatial, std::int64_t least) {
  Sizes sizes = random.sizes(2 + spatial);
  std::int64_t elements = 1;
  for (std::size_t i = 2; i < sizes.size(); ++i) {
    sizes[i] += least;
    elements *= sizes[i];
  }
  const std::int64_t most = random.space().most_elements;
  for (std::size_t i = 0; most > 0 && i < 2; ++i) {
    sizes[i] = std::clamp<std::int64_t>(most / elements, 1, sizes[i]);
    elements *= sizes[i];
  }
  return sizes;
}

Sizes of_each(Random& random, std::int64_t count, std::int64_t low, std::int64_t high) {
  Sizes numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(random.number(low, high));
  return numbers;
}

/// Kernel, stride, padding (and dilation) of one pooling call.
struct Window {
  at::Tensor input;
  Sizes kernel, stride, padding, dilation;

  Window(Random& random, std::int64_t spatial)
      : kernel(of_each(random, spatial, 2, 3)),
        stride(of_each(random, spatial, 1, 3)),
        padding(of_each(random, spatial, 0, 1)),
        dilation(static_cast<std::size_t>(spatial), 1) {
    constexpr std::int64_t kLeast = 4;
    input = random.tensor(image_sizes(random, spatial, kLeast), random.floating());
  }
};

void add_windows(RandomCalls& calls, std::int64_t spatial) {
  const std::string suffix = std::to_string(spatial) + "d";
  const auto average = [spatial](Random& random) {
    const Window w(random, spatial);
    return Values{w.input, w.kernel, w.stride, w.padding, random.coin(), random.coin(), kNone};
  };
  calls.push_back({"aten::avg_pool" + suffix, average});
  calls.push_back({"aten::avg_pool" + suffix + "_backward", [average, suffix](Random& random) {
                     Values values = average(random);
                     const Values r = results_of("aten::avg_pool" + suffix, values);
                     values.insert(values.begin(), gradient_of(random, r[0]));
                     return values;
                   }});
  const auto maximum = [spatial](Random& random) {
    const Window w(random, spatial);
    return Values{w.input, w.kernel, w.stride, w.padding, w.dilation, random.coin()};
  };
  const std::string with_indices = "aten::max_pool" + suffix + "_with_indices";
  calls.push_back({with_indices, maximum});
  calls.push_back({with_indices + "_backward", [maximum, with_indices](Random& random) {
                     Values values = maximum(random);
                     const Values r = results_of(with_indices, values);
                     values.insert(values.begin(), gradient_of(random, r[0]));
                     values.push_back(r[1]);
                     return values;
                   }});
  const auto adaptive = [spatial](Random& random) {
    const Window w(random, spatial);
    return Values{w.input, of_each(random, spatial, 1, 8)};
  };
  const std::string adaptive_max = "aten::adaptive_max_pool" + suffix;
  calls.push_back({adaptive_max, adaptive});
  calls.push_back({adaptive_max + "_backward", [adaptive, adaptive_max](Random& random) {
                     const Values values = adaptive(random);
                     const Values r = results_of(adaptive_max, values);
                     return Values{gradient_of(random, r[0]), values[0], r[1]};
                   }});
  const auto fractional = [spatial](Random& random) {
    const Window w(random, spatial);
    Sizes output;
    for (std::int64_t i = 0; i < spatial; ++i) output.push_back(random.number(1, 2));
    return Values{w.input,
                  Sizes(static_cast<std::size_t>(spatial), 2),
                  output,
                  random.plain({w.input.size(0), w.input.size(1), spatial}, w.input.scalar_type())};
  };
  const std::string fractional_max = "aten::fractional_max_pool" + suffix;
  calls.push_back({fractional_max, fractional});
  calls.push_back(
      {fractional_max + "_backward", [fractional, fractional_max](Random& random) {
         const Values values = fractional(random);
         const Values r = results_of(fractional_max, values);
         return Values{gradient_of(random, r[0]), values[0], values[1], values[2], r[1]};
       }});
}

void add_padding(RandomCalls& calls, std::int64_t spatial) {
  for (const std::string kind : {"reflection_pad", "replication_pad"}) {
    const std::string op = "aten::" + kind + std::to_string(spatial) + "d";
    const auto pad = [spatial](Random& random) {
      constexpr std::int64_t kLeast = 4;
      return Values{random.tensor(image_sizes(random, spatial, kLeast), random.floating()),
                    of_each(random, 2 * spatial, 0, 2)};
    };
    calls.push_back({op, pad});
    calls.push_back({op + "_backward", [op, pad](Random& random) {
                       const Values values = pad(random);
                       const Values r = results_of(op, values);
                       return Values{gradient_of(random, r[0]), values[0], values[1]};
                     }});
  }
}

/// `flag`: whether the schema has align_corners.
void add_resizing(RandomCalls& calls, const std::string& name, std::int64_t spatial, bool flag) {
  const std::string op = "aten::" + name;
  const auto resize = [spatial](Random& random) {
    const Sizes sizes = image_sizes(random, spatial, 1);
    Sizes output;
    for (std::size_t i = 2; i < sizes.size(); ++i) {
      output.push_back(random.coin() ? 2 * sizes[i] : (sizes[i] + 1) / 2);
    }
    return std::pair{sizes, output};
  };
  const auto add_scales = [spatial, flag](Random& random, Values& values) {
    if (flag) values.emplace_back(random.coin());
    for (std::int64_t i = 0; i < spatial; ++i) values.push_back(kNone);
  };
  calls.push_back({op, [resize, add_scales](Random& random) {
                     const auto [sizes, output] = resize(random);
                     Values values{random.tensor(sizes, random.floating()), output};
                     add_scales(random, values);
                     return values;
                   }});
  calls.push_back({op + "_backward", [resize, add_scales](Random& random) {
                     const auto [sizes, output] = resize(random);
                     Sizes of_gradient{sizes[0], sizes[1]};
                     of_gradient.insert(of_gradient.end(), output.begin(), output.end());
                     Values values{random.tensor(of_gradient, random.floating()), output, sizes};
                     add_scales(random, values);
                     return values;
                   }});
}

void add_sampling(RandomCalls& calls, std::int64_t spatial) {
  const std::string op = "aten::grid_sampler_" + std::to_string(spatial) + "d";
  const auto sample = [spatial](Random& random) {
    const Sizes sizes = image_sizes(random, spatial, 1);
    Sizes grid{sizes[0]};
    for (std::int64_t i = 0; i < spatial; ++i) grid.push_back(random.number(1, 16));
    grid.push_back(spatial);
    const at::ScalarType dtype = random.coin() ? at::kFloat : at::kDouble;
    return Values{random.tensor(sizes, dtype),
                  random.tensor(grid, dtype),
                  random.number(0, spatial == 2 ? 2 : 1),
                  random.number(0, 2),
                  random.coin()};
  };
  calls.push_back({op, sample});
  calls.push_back({op + "_backward", [op, sample](Random& random) {
                     Values values = sample(random);
                     const Values r = results_of(op, values);
                     values.insert(values.begin(), gradient_of(random, r[0]));
                     values.emplace_back(c10::List<bool>({random.coin(), true}));
                     return values;
                   }});
}

/// cuDNN does not check its arguments: each list needs one number for each spatial dimension.
void add_cudnn_convolutions(RandomCalls& calls) {
  for (const bool transposed : {false, true}) {
    const std::string op =
        std::string("aten::cudnn_convolution") + (transposed ? "_transpose" : "");
    calls.push_back(
        {op, [transposed](Random& random) {
           constexpr std::int64_t kSpatial = 2;
           constexpr std::int64_t kLeast = 4;
           const at::ScalarType dtype = product_dtype(random);
           const std::int64_t groups = random.number(1, 2);
           const std::int64_t in = groups * random.number(1, 16);
           const std::int64_t out = groups * random.number(1, 16);
           Sizes sizes = image_sizes(random, kSpatial, kLeast);
           sizes[1] = in;
           constexpr std::int64_t kMost = std::int64_t{1} << 26;
           TORCH_CHECK(sizes[0] * std::max(in, out) * sizes[2] * sizes[3] < kMost, "a large image");
           const Sizes weight{transposed ? in : out, (transposed ? out : in) / groups, 3, 3};
           Values values{random.plain(sizes, dtype),
                         random.plain(weight, dtype),
                         of_each(random, kSpatial, 0, 1)};
           if (transposed) values.emplace_back(Sizes{0, 0});
           values.emplace_back(of_each(random, kSpatial, 1, 2));
           values.emplace_back(Sizes{1, 1});
           values.emplace_back(groups);
           values.emplace_back(false);
           values.emplace_back(random.coin());
           values.emplace_back(random.coin());
           return values;
         }});
  }
}

}  // namespace

RandomCalls structured_image_calls() {
  RandomCalls calls;
  for (const std::int64_t spatial : {2, 3}) {
    add_windows(calls, spatial);
    add_sampling(calls, spatial);
  }
  for (const std::int64_t spatial : {1, 2, 3}) add_padding(calls, spatial);
  add_resizing(calls, "upsample_linear1d", 1, true);
  add_resizing(calls, "upsample_bilinear2d", 2, true);
  add_resizing(calls, "upsample_bicubic2d", 2, true);
  add_resizing(calls, "upsample_trilinear3d", 3, true);
  add_resizing(calls, "_upsample_bilinear2d_aa", 2, true);
  add_resizing(calls, "_upsample_bicubic2d_aa", 2, true);
  for (const std::int64_t spatial : {1, 2, 3}) {
    const std::string suffix = std::to_string(spatial) + "d";
    add_resizing(calls, "upsample_nearest" + suffix, spatial, false);
    add_resizing(calls, "_upsample_nearest_exact" + suffix, spatial, false);
  }
  calls.push_back(
      {"aten::affine_grid_generator", [](Random& random) {
         const Sizes sizes = random.sizes(4);
         return Values{random.tensor({sizes[0], 2, 3}, at::kFloat), sizes, random.coin()};
       }});
  calls.push_back({"aten::constant_pad_nd", [](Random& random) {
                     const Sizes sizes = random.any_sizes(1, 5);
                     const auto most = static_cast<std::int64_t>(sizes.size());
                     return Values{random.tensor(sizes, random.any_dtype()),
                                   of_each(random, 2 * random.number(1, most), 0, 3),
                                   0};
                   }});
  for (const char* op : {"aten::pixel_shuffle", "aten::pixel_unshuffle"}) {
    const bool apart = std::string(op) == "aten::pixel_unshuffle";
    calls.push_back({op, [apart](Random& random) {
                       const std::int64_t factor = random.number(1, 3);
                       Sizes sizes = random.sizes(4);
                       sizes[1] *= apart ? 1 : factor * factor;
                       sizes[2] *= apart ? factor : 1;
                       sizes[3] *= apart ? factor : 1;
                       return Values{random.tensor(sizes, random.any_dtype()), factor};
                     }});
  }
  add_cudnn_convolutions(calls);
  calls.push_back({"aten::conv_tbc", [](Random& random) {
                     const Sizes s = random.sizes(4);
                     const at::ScalarType dtype = product_dtype(random);
                     const std::int64_t width = random.number(1, 3);
                     return Values{random.tensor({s[0] + width, s[1], s[2]}, dtype),
                                   random.tensor({width, s[2], s[3]}, dtype),
                                   random.plain({s[3]}, dtype),
                                   random.number(0, 1)};
                   }});
  calls.push_back({"aten::slow_conv_transpose2d", [](Random& random) {
                     const std::int64_t in = random.number(1, 8);
                     const std::int64_t out = random.number(1, 8);
                     const at::ScalarType dtype = product_dtype(random);
                     Sizes sizes = image_sizes(random, 2, 2);
                     sizes[1] = in;
                     return Values{random.tensor(sizes, dtype),
                                   random.plain({in, out, 3, 3}, dtype),
                                   Sizes{3, 3},
                                   random.coin() ? kNone : c10::IValue(random.plain({out}, dtype)),
                                   Sizes{1, 1},
                                   Sizes{1, 1},
                                   Sizes{0, 0},
                                   Sizes{1, 1}};
                   }});
  return calls;
}

}  // namespace elixir::capture
