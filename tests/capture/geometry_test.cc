// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares every geometry rule with the CPU kernel: sizes, strides and dtypes of all results, for
// several layouts and dtypes.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Reduction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include "capture/host_cpu.h"
#include "capture/meta/meta_kernels.h"
#include "capture/record/arguments/values.h"
#include "random_calls.h"

namespace elixir::capture {
namespace {

using at::Tensor;
using c10::IValue;

const program::Target kCpu = resolved(*program::Target::parse("cpu"));

struct Case {
  std::string op, overload;
  std::string what;
  std::function<Values()> arguments;
};

Tensor uniform(const Sizes& sizes, at::ScalarType dtype = at::kFloat) {
  return at::rand(sizes, at::TensorOptions().dtype(dtype));
}
Tensor channels_last(const Sizes& sizes, at::ScalarType dtype = at::kFloat) {
  return uniform(sizes, dtype).contiguous(at::MemoryFormat::ChannelsLast);
}
Tensor transposed(const Sizes& sizes) {
  Sizes other = sizes;
  std::swap(other[0], other[1]);
  return uniform(other).transpose(0, 1);
}
Tensor indices(std::int64_t below, const Sizes& sizes) {
  return at::randint(below, sizes, at::kLong);
}
/// The same call on several layouts of its first argument.
std::vector<Case> unary(const std::string& op, const Values& rest = {}) {
  std::vector<Case> cases;
  const std::vector<std::pair<std::string, std::function<Tensor()>>> inputs{
      {"contiguous",
       [] {
         return uniform({2, 3, 4, 5});
       }},
      {"channels last",
       [] {
         return channels_last({2, 3, 4, 5});
       }},
      {"transposed",
       [] {
         return transposed({3, 4});
       }},
      {"expanded",
       [] {
         return uniform({3, 1}).expand({3, 4});
       }},
      {"bfloat16",
       [] {
         return uniform({3, 4}, at::kBFloat16);
       }},
  };
  for (const auto& [what, make] : inputs) {
    cases.push_back({op, "", what, [make = make, rest] {
                       Values arguments{make()};
                       arguments.insert(arguments.end(), rest.begin(), rest.end());
                       return arguments;
                     }});
  }
  return cases;
}

std::vector<Case> binary(const std::string& op, const Values& rest = {}, bool broadcasts = true) {
  std::vector<Case> cases{
      {op,
       "",
       "contiguous",
       [rest] {
         Values a{uniform({3, 4}), uniform({3, 4})};
         a.insert(a.end(), rest.begin(), rest.end());
         return a;
       }},
      {op,
       "",
       "channels last",
       [rest] {
         Values a{channels_last({2, 3, 4, 4}), channels_last({2, 3, 4, 4})};
         a.insert(a.end(), rest.begin(), rest.end());
         return a;
       }},
      {op,
       "",
       "transposed",
       [rest] {
         Values a{transposed({3, 4}), transposed({3, 4})};
         a.insert(a.end(), rest.begin(), rest.end());
         return a;
       }},
  };
  if (broadcasts) {
    cases.push_back({op, "", "broadcast", [rest] {
                       Values a{uniform({3, 1}), uniform({2, 3, 4})};
                       a.insert(a.end(), rest.begin(), rest.end());
                       return a;
                     }});
  }
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto add = [&](const std::vector<Case>& more) {
    cases.insert(cases.end(), more.begin(), more.end());
  };
  for (const char* op :
       {"aten::abs", "aten::relu", "aten::isnan", "aten::hardswish", "aten::max", "aten::min"}) {
    add(unary(op));
  }
  add(unary("aten::hardtanh", {-1.0, 1.0}));
  add(unary("aten::flip", {Sizes{0}}));
  add(unary("aten::roll", {Sizes{1}, Sizes{0}}));
  add(unary("aten::_safe_softmax", {std::int64_t{1}, kNone}));
  add(unary("aten::prod", {kNone}));
  add(unary("aten::index_select", {std::int64_t{1}, at::arange(2)}));
  add({{"aten::floor_divide",
        "Scalar",
        "float",
        [] {
          return Values{transposed({3, 4}), 2.0};
        }},
       {"aten::remainder",
        "Scalar_Tensor",
        "float",
        [] {
          return Values{2.0, transposed({3, 4})};
        }},
       {"aten::prod",
        "",
        "int32",
        [] {
          return Values{at::ones({3}, at::kInt), kNone};
        }},
       {"aten::dot", "", "vectors", [] {
          return Values{uniform({4}), uniform({4})};
        }}});
  for (const char* name : {"std", "var", "std_mean", "var_mean"}) {
    const std::string op = std::string("aten::") + name;
    for (const bool keep : {false, true}) {
      cases.push_back({op, "correction", "some", [keep] {
                         return Values{channels_last({2, 3, 4, 5}), Sizes{1, -1}, 1.0, keep};
                       }});
      cases.push_back({op, "correction", "all", [keep] {
                         return Values{uniform({2, 3}), kNone, 0.0, keep};
                       }});
    }
  }
  add(binary("aten::floor_divide"));
  for (Case each : binary("aten::rsub", {1})) {
    each.overload = "Tensor";
    cases.push_back(each);
  }
  add(binary("aten::hardswish_backward", {}, false));
  add(binary("aten::hardtanh_backward", {-1.0, 1.0}, false));
  add({{"aten::glu_backward", "", "", [] {
          return Values{uniform({2, 3}), transposed({2, 6}), std::int64_t{1}};
        }}});
  for (const std::int64_t reduction : {std::int64_t{0}, std::int64_t{1}}) {
    const auto gradient = [reduction](const Sizes& sizes) {
      return reduction == 0 ? uniform(sizes) : uniform({});
    };
    for (const bool last : {false, true}) {
      const auto input = [last] {
        return last ? channels_last({2, 3, 4, 4}) : uniform({2, 3, 4, 4});
      };
      const std::string what = std::to_string(reduction) + (last ? " channels last" : "");
      const Sizes sizes{2, 3, 4, 4};
      add({{"aten::mse_loss_backward",
            "",
            what,
            [=] {
              return Values{gradient(sizes), input(), input(), reduction};
            }},
           {"aten::smooth_l1_loss_backward",
            "",
            what,
            [=] {
              return Values{gradient(sizes), input(), input(), reduction, 1.0};
            }},
           {"aten::huber_loss_backward",
            "",
            what,
            [=] {
              return Values{gradient(sizes), input(), input(), reduction, 1.0};
            }},
           {"aten::huber_loss",
            "",
            what,
            [=] {
              return Values{input(), input(), reduction, 1.0};
            }},
           {"aten::binary_cross_entropy",
            "",
            what,
            [=] {
              return Values{input(), input(), kNone, reduction};
            }},
           {"aten::binary_cross_entropy_backward",
            "",
            what,
            [=] {
              return Values{gradient(sizes), input(), input(), kNone, reduction};
            }},
           {"aten::nll_loss2d_forward",
            "",
            what,
            [=] {
              return Values{input(), indices(3, {2, 4, 4}), kNone, reduction, std::int64_t{-100}};
            }},
           {"aten::nll_loss2d_backward", "", what, [=] {  // the kernel refuses channels last
              return Values{gradient({2, 4, 4}),
                            uniform({2, 3, 4, 4}),
                            indices(3, {2, 4, 4}),
                            kNone,
                            reduction,
                            std::int64_t{-100},
                            uniform({})};
            }}});
    }
  }
  for (const bool last : {false, true}) {
    const auto image = [last](std::int64_t channels, at::ScalarType dtype = at::kFloat) {
      const Sizes sizes{2, channels, 6, 6};
      return last ? channels_last(sizes, dtype) : uniform(sizes, dtype);
    };
    const std::string what = last ? "channels last" : "contiguous";
    add({{"aten::_adaptive_avg_pool2d",
          "",
          what,
          [=] {
            return Values{image(4), Sizes{2, 3}};
          }},
         {"aten::_adaptive_avg_pool2d_backward", "", what, [=] {
            return Values{uniform({2, 4, 2, 3}), image(4)};
          }}});
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
      const auto weight = [dtype] { return uniform({4}, dtype); };
      add({{"aten::native_group_norm",
            "",
            what,
            [=] {
              return Values{image(4, dtype),
                            weight(),
                            weight(),
                            std::int64_t{2},
                            std::int64_t{4},
                            std::int64_t{36},
                            std::int64_t{2},
                            1e-5};
            }},
           {"aten::native_group_norm_backward",
            "",
            what,
            [=] {
              return Values{image(4, dtype),
                            image(4, dtype),
                            uniform({2, 2}, dtype),
                            uniform({2, 2}, dtype),
                            weight(),
                            std::int64_t{2},
                            std::int64_t{4},
                            std::int64_t{36},
                            std::int64_t{2},
                            c10::List<bool>({true, true, true})};
            }},
           {"aten::native_batch_norm",
            "",
            what,
            [=] {
              return Values{
                  image(4, dtype), weight(), weight(), weight(), weight(), true, 0.1, 1e-5};
            }},
           {"aten::native_batch_norm",
            "",
            what + " evaluation",
            [=] {
              return Values{
                  image(4, dtype), weight(), weight(), weight(), weight(), false, 0.1, 1e-5};
            }},
           {"aten::native_batch_norm_backward", "", what, [=] {
              return Values{image(4, dtype),
                            image(4, dtype),
                            weight(),
                            weight(),
                            weight(),
                            weight(),
                            weight(),
                            true,
                            1e-5,
                            c10::List<bool>({true, true, true})};
            }}});
    }
    for (const bool turned : {false, true}) {
      for (const std::int64_t groups : {1, 2}) {
        const std::string how = what + (turned ? " transposed " : " ") + std::to_string(groups);
        const auto kernel = [=] {
          return turned ? uniform({4, 6 / groups, 3, 3}) : uniform({6, 4 / groups, 3, 3});
        };
        const Sizes output_padding{turned ? 1 : 0, turned ? 1 : 0};
        add({{"aten::convolution",
              "",
              how,
              [=] {
                return Values{image(4),
                              kernel(),
                              uniform({6}),
                              Sizes{2, 2},
                              Sizes{1, 1},
                              Sizes{1, 1},
                              turned,
                              output_padding,
                              groups};
              }},
             {"aten::convolution_backward", "", how, [=] {
                const std::int64_t side = turned ? 12 : 3;
                return Values{uniform({2, 6, side, side}),
                              image(4),
                              kernel(),
                              Sizes{6},
                              Sizes{2, 2},
                              Sizes{1, 1},
                              Sizes{1, 1},
                              turned,
                              output_padding,
                              groups,
                              c10::List<bool>({true, true, true})};
              }}});
      }
    }
  }
  add({{"aten::convolution",
        "",
        "1-d",
        [] {
          return Values{uniform({2, 4, 9}),
                        uniform({6, 4, 3}),
                        kNone,
                        Sizes{1},
                        Sizes{1},
                        Sizes{1},
                        false,
                        Sizes{0},
                        std::int64_t{1}};
        }},
       {"aten::native_layer_norm",
        "",
        "",
        [] {
          return Values{transposed({3, 4}), Sizes{4}, uniform({4}), uniform({4}), 1e-5};
        }},
       {"aten::native_layer_norm_backward",
        "",
        "",
        [] {
          return Values{uniform({3, 4}),
                        transposed({3, 4}),
                        Sizes{4},
                        uniform({3, 1}),
                        uniform({3, 1}),
                        uniform({4}),
                        uniform({4}),
                        c10::List<bool>({true, true, false})};
        }},
       {"aten::embedding",
        "",
        "",
        [] {
          return Values{uniform({9, 4}), indices(9, {2, 3}), std::int64_t{-1}, false, false};
        }},
       {"aten::embedding_dense_backward",
        "",
        "",
        [] {
          return Values{
              uniform({2, 3, 4}), indices(9, {2, 3}), std::int64_t{9}, std::int64_t{-1}, false};
        }},
       {"aten::where",
        "self",
        "broadcast",
        [] {
          return Values{uniform({3, 1}).gt(0.5), transposed({3, 4}), uniform({}, at::kDouble)};
        }},
       {"aten::where", "self", "promotion", [] {
          return Values{uniform({3, 4}).gt(0.5), uniform({3, 4}), uniform({3, 4}, at::kBFloat16)};
        }}});
  for (const std::int64_t offset : {-7, -2, 0, 1, 9}) {
    for (const char* op : {"aten::tril_indices", "aten::triu_indices"}) {
      cases.push_back({op, "", std::to_string(offset), [offset] {
                         return Values{std::int64_t{4},
                                       std::int64_t{6},
                                       offset,
                                       std::int64_t{4},
                                       kNone,
                                       c10::Device(c10::kCPU),
                                       kNone};
                       }});
    }
  }
  return cases;
}

std::string geometry(const IValue& value) {
  std::string text;
  if (value.isTensor() && !value.toTensor().defined()) return "undefined ";
  for_each_tensor(value, [&](const Tensor& tensor) {
    text += c10::str(tensor.scalar_type(), tensor.sizes(), tensor.strides(), " ");
  });
  return text;
}

TEST(GeometryRules, GiveWhatTheCpuKernelGives) {
  for (const Case& each : all_cases()) {
    const std::string name = each.op + (each.overload.empty() ? "" : "." + each.overload);
    SCOPED_TRACE(name + " " + each.what);
    const Rule rule = find_geometry(name).rule;
    ASSERT_NE(rule, nullptr);
    const Values arguments = each.arguments();
    torch::jit::Stack stack = arguments;
    const c10::OperatorHandle op =
        c10::Dispatcher::singleton().findSchemaOrThrow(each.op.c_str(), each.overload.c_str());
    op.callBoxed(stack);
    Values on_meta;
    for (const IValue& argument : arguments) {
      on_meta.push_back(
          map_tensors(argument, [](const Tensor& tensor) { return to_meta(tensor); }));
    }
    const Values results = rule(kCpu, Call(op.schema(), on_meta));
    ASSERT_EQ(results.size(), stack.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(geometry(results[i]), geometry(stack[i])) << "result " << i;
    }
  }
}

/// Operators that only a GPU has. tests/gpu compares them, model by model.
const std::set<std::string> kOnCudaAlone{"aten::_cudnn_rnn",
                                         "aten::_cudnn_rnn_backward",
                                         "aten::_fused_dropout",
                                         "aten::_fused_rms_norm",
                                         "aten::_fused_rms_norm_backward",
                                         "aten::_scaled_dot_product_cudnn_attention",
                                         "aten::_scaled_dot_product_cudnn_attention_backward",
                                         "aten::_scaled_dot_product_efficient_attention",
                                         "aten::_scaled_dot_product_efficient_attention_backward",
                                         "aten::_scaled_dot_product_flash_attention",
                                         "aten::_scaled_dot_product_flash_attention_backward",
                                         "aten::_thnn_fused_gru_cell",
                                         "aten::_thnn_fused_gru_cell_backward",
                                         "aten::_thnn_fused_lstm_cell",
                                         "aten::_thnn_fused_lstm_cell_backward_impl",
                                         "aten::_use_cudnn_ctc_loss",
                                         "aten::_use_miopen_ctc_loss",
                                         "aten::bmm.dtype",
                                         "aten::cudnn_batch_norm",
                                         "aten::cudnn_batch_norm_backward",
                                         "aten::mm.dtype"};
/// Written arguments, opaque workspaces, identity. equality_test.cc compares them in whole models.
const std::set<std::string> kInModels{"aten::_cummax_helper",
                                      "aten::_cummin_helper",
                                      "aten::_index_put_impl_",
                                      "aten::equal",
                                      "aten::mkldnn_rnn_layer",
                                      "aten::mkldnn_rnn_layer_backward"};

TEST(GeometryRules, AreAllTestedSomewhere) {
  std::set<std::string> tested = kOnCudaAlone;
  tested.insert(kInModels.begin(), kInModels.end());
  for (const Case& each : all_cases()) {
    tested.insert(each.op + (each.overload.empty() ? "" : "." + each.overload));
  }
  for (const RandomCall& call : all_random_calls()) tested.insert(call.op);
  for (const std::string& op : ruled_operators()) EXPECT_EQ(tested.count(op), 1U) << op;
}

}  // namespace
}  // namespace elixir::capture
