// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "random_calls.h"

#include <utility>

namespace elixir::capture {
namespace {

/// Two tensors that broadcast.
Values pair(Random& random, at::ScalarType first, at::ScalarType second) {
  Sizes sizes = random.any_sizes(0, 4);
  Sizes other = sizes;
  for (std::int64_t& size : other) size = random.number(0, 3) == 0 ? 1 : size;
  if (!other.empty() && random.coin()) other.erase(other.begin());
  Values values{random.tensor(sizes, first), random.tensor(other, second)};
  if (random.coin()) std::swap(values[0], values[1]);
  return values;
}

RandomCall unary(const std::string& op, bool integers) {
  return {op, [integers](Random& random) {
            const auto dtype = integers ? random.any_dtype() : random.floating();
            return Values{random.tensor(random.any_sizes(0, 5), dtype)};
          }};
}
RandomCall of_two(const std::string& op, const Values& rest = {}) {
  return {op, [rest](Random& random) {
            Values values = pair(random, random.any_dtype(), random.any_dtype());
            values.insert(values.end(), rest.begin(), rest.end());
            return values;
          }};
}
/// Gradient and input of equal sizes and dtype.
RandomCall backward(const std::string& op, const Values& rest = {}) {
  return {op, [rest](Random& random) {
            const Sizes sizes = random.any_sizes(0, 5);
            const at::ScalarType dtype = random.floating();
            Values values{random.tensor(sizes, dtype), random.tensor(sizes, dtype)};
            values.insert(values.end(), rest.begin(), rest.end());
            return values;
          }};
}

}  // namespace

RandomCalls random_elementwise_calls() {
  RandomCalls calls;
  for (const char* op : {"aten::abs",
                         "aten::angle",
                         "aten::isnan",
                         "aten::logical_not",
                         "aten::relu",
                         "aten::hardswish"}) {
    calls.push_back(unary(op, true));
  }
  calls.push_back(unary("aten::log_sigmoid_forward", false));
  for (const char* op : {"aten::complex", "aten::polar"}) {
    calls.push_back({op, [](Random& random) {
                       const at::ScalarType dtype = random.coin() ? at::kFloat : at::kDouble;
                       return pair(random, dtype, dtype);
                     }});
  }
  for (const char* op :
       {"aten::logical_and", "aten::logical_or", "aten::logical_xor", "aten::floor_divide"}) {
    calls.push_back(of_two(op));
  }
  calls.push_back(of_two("aten::rsub.Tensor", {1}));
  for (const char* op : {"aten::mish_backward", "aten::hardswish_backward"}) {
    calls.push_back(backward(op));
  }
  calls.push_back(backward("aten::hardtanh_backward", {-1.0, 1.0}));
  calls.insert(
      calls.end(),
      {{"aten::hardtanh",
        [](Random& random) {
          return Values{random.tensor(random.any_sizes(0, 5), random.floating()), -1.0, 1.0};
        }},
       {"aten::logit",
        [](Random& random) {
          return Values{random.tensor(random.any_sizes(0, 5), random.any_dtype()),
                        random.coin() ? kNone : c10::IValue(0.1)};
        }},
       {"aten::nan_to_num",
        [](Random& random) {
          return Values{
              random.tensor(random.any_sizes(0, 5), random.any_dtype()), 0.0, kNone, kNone};
        }},
       {"aten::flip",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(1, 5);
          const auto last = static_cast<std::int64_t>(sizes.size()) - 1;
          return Values{random.tensor(sizes, random.any_dtype()), Sizes{random.number(0, last)}};
        }},
       {"aten::floor_divide.Scalar",
        [](Random& random) {
          return Values{random.tensor(random.any_sizes(0, 4), random.any_dtype()),
                        random.coin() ? c10::IValue(2.0) : c10::IValue(2)};
        }},
       {"aten::remainder.Scalar_Tensor",
        [](Random& random) {
          return Values{random.coin() ? c10::IValue(2.0) : c10::IValue(2),
                        random.tensor(random.any_sizes(0, 4), random.floating())};
        }},
       {"aten::glu_backward",
        [](Random& random) {
          Sizes half = random.any_sizes(1, 4);
          Sizes whole = half;
          const std::int64_t d = random.number(0, static_cast<std::int64_t>(half.size()) - 1);
          whole[static_cast<std::size_t>(d)] *= 2;
          const at::ScalarType dtype = random.floating();
          return Values{random.tensor(half, dtype), random.tensor(whole, dtype), d};
        }},
       {"aten::log_sigmoid_backward",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(0, 4);
          const at::ScalarType dtype = random.floating();
          return Values{
              random.tensor(sizes, dtype), random.tensor(sizes, dtype), random.plain(sizes, dtype)};
        }},
       {"aten::_prelu_kernel",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(1, 5);
          Sizes channels(sizes.size(), 1);
          if (sizes.size() > 1) channels[1] = random.coin() ? sizes[1] : 1;
          const at::ScalarType dtype = random.floating();
          return Values{random.tensor(sizes, dtype), random.plain(channels, dtype)};
        }},
       {"aten::_prelu_kernel_backward",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(1, 5);
          Sizes channels(sizes.size(), 1);
          if (sizes.size() > 1) channels[1] = random.coin() ? sizes[1] : 1;
          const at::ScalarType dtype = random.floating();
          return Values{random.tensor(sizes, dtype),
                        random.tensor(sizes, dtype),
                        random.plain(channels, dtype)};
        }},
       {"aten::rrelu_with_noise",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(0, 5);
          const at::ScalarType dtype = random.floating();
          return Values{random.tensor(sizes, dtype),
                        random.plain(sizes, dtype),
                        0.1,
                        0.3,
                        random.coin(),
                        kNone};
        }},
       {"aten::native_dropout",
        [](Random& random) {
          return Values{random.tensor(random.any_sizes(1, 5), random.floating()), 0.5, true};
        }},
       {"aten::native_dropout_backward",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(1, 5);
          return Values{
              random.tensor(sizes, random.floating()), random.plain(sizes, at::kBool), 2.0};
        }},
       {"aten::fake_quantize_per_tensor_affine_cachemask",
        [](Random& random) {
          return Values{random.tensor(random.any_sizes(1, 5), random.floating()), 0.1, 0, 0, 255};
        }},
       {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        [](Random& random) {
          return Values{random.tensor(random.any_sizes(1, 5), random.floating()),
                        random.plain({1}, at::kFloat),
                        random.indices({1}, 1, at::kInt),
                        random.indices({1}, 2),
                        0,
                        255};
        }},
       {"aten::fake_quantize_per_channel_affine_cachemask",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(1, 5);
          return Values{random.tensor(sizes, random.floating()),
                        random.plain({sizes[0]}, at::kFloat),
                        random.indices({sizes[0]}, 1, at::kInt),
                        0,
                        0,
                        255};
        }},
       {"aten::_fused_moving_avg_obs_fq_helper",
        [](Random& random) {
          return Values{random.tensor(random.any_sizes(1, 5), at::kFloat),
                        random.indices({1}, 2),
                        random.indices({1}, 2),
                        random.plain({1}, at::kFloat),
                        random.plain({1}, at::kFloat),
                        random.plain({1}, at::kFloat),
                        random.indices({1}, 1, at::kInt),
                        0.01,
                        0,
                        255,
                        -1,
                        false,
                        false};
        }},
       {"aten::_fake_quantize_learnable_per_tensor_affine",
        [](Random& random) {
          return Values{random.tensor(random.any_sizes(1, 5), at::kFloat),
                        random.plain({1}, at::kFloat),
                        random.plain({1}, at::kFloat),
                        0,
                        255,
                        1.0};
        }},
       {"aten::_fake_quantize_learnable_per_tensor_affine_backward",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(1, 5);
          return Values{random.tensor(sizes, at::kFloat),
                        random.tensor(sizes, at::kFloat),
                        random.plain({1}, at::kFloat),
                        random.plain({1}, at::kFloat),
                        0,
                        255,
                        1.0};
        }},
       {"aten::_fake_quantize_learnable_per_channel_affine",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(1, 5);
          return Values{random.tensor(sizes, at::kFloat),
                        random.plain({sizes[0]}, at::kFloat),
                        random.plain({sizes[0]}, at::kFloat),
                        0,
                        0,
                        255,
                        1.0};
        }},
       {"aten::_fake_quantize_learnable_per_channel_affine_backward",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(1, 5);
          return Values{random.tensor(sizes, at::kFloat),
                        random.tensor(sizes, at::kFloat),
                        random.plain({sizes[0]}, at::kFloat),
                        random.plain({sizes[0]}, at::kFloat),
                        0,
                        0,
                        255,
                        1.0};
        }},
       {"aten::multinomial",
        [](Random& random) {
          // Weights: not negative, and not all 0.
          return Values{random.tensor(random.any_sizes(1, 2), random.floating()).abs().add(1),
                        random.number(1, 4),
                        true,
                        kNone};
        }},
       {"aten::binomial",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(0, 4);
          return Values{random.tensor(sizes, at::kFloat), random.tensor(sizes, at::kFloat), kNone};
        }},
       {"aten::_standard_gamma_grad",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(0, 4);
          return Values{random.tensor(sizes, at::kFloat), random.tensor(sizes, at::kFloat)};
        }},
       {"aten::_dirichlet_grad", [](Random& random) {
          const Sizes sizes = random.any_sizes(1, 4);
          return Values{random.tensor(sizes, at::kFloat),
                        random.tensor(sizes, at::kFloat),
                        random.tensor(sizes, at::kFloat)};
        }}});
  for (const char* op : {"aten::poisson", "aten::_standard_gamma", "aten::_sample_dirichlet"}) {
    calls.push_back(
        {op, [](Random& random) {
           return Values{random.tensor(random.any_sizes(1, 4), random.floating()), kNone};
         }});
  }
  const auto in_place = [&](const std::string& op, const Values& rest) {
    calls.push_back({op, [rest](Random& random) {
                       Values values{
                           random.tensor(random.any_sizes(0, 4), random.floating(), false)};
                       values.insert(values.end(), rest.begin(), rest.end());
                       return values;
                     }});
  };
  in_place("aten::bernoulli_.float", {0.5, kNone});
  in_place("aten::cauchy_", {0.0, 1.0, kNone});
  in_place("aten::exponential_", {1.0, kNone});
  in_place("aten::geometric_", {0.5, kNone});
  in_place("aten::log_normal_", {1.0, 2.0, kNone});
  calls.push_back({"aten::bernoulli_.Tensor", [](Random& random) {
                     const Sizes sizes = random.any_sizes(0, 4);
                     return Values{random.tensor(sizes, random.floating(), false),
                                   random.plain(sizes, at::kFloat),
                                   kNone};
                   }});
  return calls;
}

}  // namespace elixir::capture
