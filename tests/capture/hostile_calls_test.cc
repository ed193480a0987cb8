// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Calls operators that have our rules or choices with arbitrary arguments. Each call must give a
// result or an exception, and never end the process. Seeds are fixed.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "capture/meta/meta_kernels.h"
#include "capture/record/dispatch/fallbacks.h"
#include "capture/record/dispatch/meta_storage.h"
#include "capture/record/dispatch/session.h"
#include "core/error.h"
#include "hardware/operator_cost.h"
#include "operators/scratch/call_script.h"
#include "random_arguments.h"
#include "random_calls.h"

namespace elixir::capture {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t hostile_number(Random& random) {
  return random.one_of<std::int64_t>(
      {-1, 0, 0, 1, 1, 2, 3, 4, 7, 100, std::int64_t{1} << 31, kMost, kLeast});
}

Sizes hostile_sizes(Random& random, std::int64_t most) {
  Sizes sizes(static_cast<std::size_t>(random.number(0, most)));
  for (std::int64_t& size : sizes) size = random.one_of<std::int64_t>({0, 1, 1, 2, 3, 4, 8, 100});
  return sizes;
}

at::Tensor hostile_tensor(Random& random) {
  const at::ScalarType dtype = random.one_of<at::ScalarType>(
      {at::kFloat, at::kFloat, at::kFloat, at::kBFloat16, at::kLong, at::kBool, at::kComplexFloat});
  return at::empty(hostile_sizes(random, 5), at::TensorOptions().dtype(dtype).device(c10::kMeta));
}

c10::IValue hostile_value(Random& random, const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
      if (random.coin()) return {};
      return hostile_value(random, type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::TensorType:
      return hostile_tensor(random);
    case c10::TypeKind::FloatType:
      return random.one_of<double>({-1.0, 0.0, 0.5, 1.0, 2.0});
    case c10::TypeKind::BoolType:
      return random.coin();
    case c10::TypeKind::StringType:
      return std::string(random.coin() ? "" : "none");
    case c10::TypeKind::NumberType:
      return random.coin() ? c10::IValue(0.5) : c10::IValue(hostile_number(random));
    case c10::TypeKind::ListType: {
      const c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
      const std::int64_t count = random.number(0, 5);
      if (element->kind() == c10::TypeKind::TensorType) {
        c10::List<at::Tensor> tensors;
        for (std::int64_t i = 0; i < count; ++i) tensors.push_back(hostile_tensor(random));
        return tensors;
      }
      if (element->kind() == c10::TypeKind::BoolType) {
        c10::List<bool> flags;
        for (std::int64_t i = 0; i < count; ++i) flags.push_back(random.coin());
        return flags;
      }
      if (element->kind() == c10::TypeKind::OptionalType) {
        c10::List<std::optional<at::Tensor>> tensors;
        for (std::int64_t i = 0; i < count; ++i) tensors.push_back(hostile_tensor(random));
        return tensors;
      }
      Sizes numbers(static_cast<std::size_t>(count));
      for (std::int64_t& number : numbers) number = hostile_number(random);
      return numbers;
    }
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return hostile_number(random);
    default:
      return {};
  }
}

c10::OperatorHandle operator_named(const std::string& op) {
  const std::size_t dot = op.find('.');
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      op.substr(0, dot).c_str(), dot == std::string::npos ? "" : op.substr(dot + 1).c_str());
}

class Silence : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

/// Records one call and uses everything that reads recorded calls. Returns true when the call was
/// accepted.
bool run(const program::Target& target, const std::string& op, const Values& arguments) {
  try {
    const torch::jit::Module module("Net");
    Session session(target, CaptureOn::kMeta, module);
    for (const c10::IValue& value : arguments) {
      for_each_tensor(value, [&](const at::Tensor& tensor) {
        static_cast<void>(session.recorder().declare(tensor, program::Category::kInput));
      });
    }
    {
      torch::jit::Stack stack = arguments;
      const CaptureScope scope;
      operator_named(op).callBoxed(stack);
    }
    session.recorder().finish();
    program::Program program;
    program.target = target;
    program.operators = std::move(session.recorder().operators);
    program.storages = std::move(session.recorder().storages);
    if (target.kind == program::Target::Kind::kCuda) {
      static_cast<void>(operators::call_scripts(program, operators::cuda_traits(target), {}));
    }
    for (const program::Operator& call : program.operators) {
      static_cast<void>(hardware::work_of(call));
      static_cast<void>(hardware::workspace_bound(call, true, 2));
    }
    return true;
  } catch (const Error& error) {
    EXPECT_NE(error.info().code, ErrorCode::kInternal) << error.what();
    return false;
  } catch (const std::exception&) {
    return false;
  }
}

std::vector<std::string> chosen_operators() {
  return {"aten::scaled_dot_product_attention",
          "aten::lstm.input",
          "aten::gru.input",
          "aten::rnn_tanh.input",
          "aten::rnn_relu.input",
          "aten::lstm_cell",
          "aten::gru_cell",
          "aten::group_norm",
          "aten::one_hot",
          "aten::reshape",
          "aten::ctc_loss.IntList",
          "aten::dropout",
          "aten::softmax.int",
          "aten::_batch_norm_impl_index",
          "aten::embedding_bag.padding_idx",
          "aten::cumsum",
          "aten::sum.dim_IntList"};
}

class HostileCalls : public testing::TestWithParam<const char*> {
 protected:
  HostileCalls() { install_meta_allocator(); }
  const program::Target target_ = *program::Target::parse(GetParam());
  Silence silence_;
  const c10::WarningUtils::WarningHandlerGuard silent_{&silence_};
};

TEST_P(HostileCalls, OfAnyArgumentsEndInAResultOrAnError) {
  constexpr int kDraws = 12;
  std::vector<std::string> names = ruled_operators();
  for (const std::string& name : chosen_operators()) names.push_back(name);
  int taken = 0;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto schema_arguments = operator_named(name).schema().arguments();
    for (int draw = 0; draw < kDraws; ++draw) {
      Random random(std::hash<std::string>{}(name) + static_cast<std::uint64_t>(draw));
      Values arguments;
      for (const c10::Argument& argument : schema_arguments) {
        arguments.push_back(hostile_value(random, argument.type()));
      }
      taken += run(target_, name, arguments) ? 1 : 0;
    }
  }
  EXPECT_GT(taken, 100);
}

TEST_P(HostileCalls, WithOneArgumentChangedEndInAResultOrAnError) {
  constexpr int kDraws = 8;
  int taken = 0;
  for (const RandomCall& call : all_random_calls()) {
    SCOPED_TRACE(call.op);
    const auto schema_arguments = operator_named(call.op).schema().arguments();
    for (int draw = 0; draw < kDraws; ++draw) {
      Random random(std::hash<std::string>{}(call.op) + static_cast<std::uint64_t>(draw));
      Values arguments;
      try {
        arguments = call.draw(random);
      } catch (const c10::Error&) {
        continue;
      }
      for (c10::IValue& value : arguments) {
        value = map_tensors(value, [](const at::Tensor& tensor) { return to_meta(tensor); });
      }
      const auto at = static_cast<std::size_t>(
          random.number(0, static_cast<std::int64_t>(arguments.size()) - 1));
      arguments[at] = hostile_value(random, schema_arguments[at].type());
      taken += run(target_, call.op, arguments) ? 1 : 0;
    }
  }
  EXPECT_GT(taken, 100);
}

at::Tensor meta(const Sizes& sizes) {
  return at::empty(sizes, at::TensorOptions().device(c10::kMeta));
}

/// Calls that once ended the process.
TEST_P(HostileCalls, DivideByNothing) {
  const auto attention = [&](const Sizes& query, const Sizes& key, bool grouped) {
    return run(target_,
               "aten::scaled_dot_product_attention",
               {meta(query), meta(key), meta(key), {}, 0.0, false, {}, grouped});
  };
  attention({2, 4, 3, 8}, {2, 4, 0, 8}, false);
  EXPECT_FALSE(attention({2, 4, 3, 8}, {2, 0, 3, 8}, true));
  EXPECT_FALSE(attention({2, 0, 3, 8}, {2, 0, 3, 8}, true));
  const at::Tensor indices =
      at::empty({4000}, at::TensorOptions().device(c10::kMeta).dtype(at::kLong));
  EXPECT_TRUE(run(target_,
                  "aten::embedding_dense_backward",
                  {meta({4000, 0}), indices, std::int64_t{10}, std::int64_t{-1}, false}));
  const Sizes zero{0, 0};
  const Sizes one{1, 1};
  EXPECT_FALSE(run(
      target_,
      "aten::convolution",
      {meta({1, 1, 4, 4}), meta({1, 1, 2, 2}), {}, zero, zero, one, false, zero, std::int64_t{1}}));
  EXPECT_FALSE(run(target_, "aten::im2col", {meta({1, 1, 4, 4}), one, one, zero, zero}));
  EXPECT_FALSE(run(target_, "aten::col2im", {meta({1, 1, 4}), one, one, one, zero, zero}));
  EXPECT_FALSE(run(target_, "aten::channel_shuffle", {meta({1, 4, 2, 2}), std::int64_t{0}}));
}

TEST_P(HostileCalls, RecurrentLayersWantTheirStatesAndWeights) {
  const auto call = [&](const char* op, const c10::IValue& states, std::size_t weights) {
    c10::List<at::Tensor> list;
    for (std::size_t i = 0; i < weights; ++i) list.push_back(meta({16, 4}));
    return run(target_,
               op,
               {meta({5, 3, 4}), states, list, false, std::int64_t{1}, 0.0, true, false, false});
  };
  c10::List<at::Tensor> both;
  both.push_back(meta({1, 3, 4}));
  EXPECT_FALSE(call("aten::lstm.input", both, 2));  // one state
  both.push_back(meta({1, 3, 4}));
  EXPECT_TRUE(call("aten::lstm.input", both, 2));
  EXPECT_FALSE(call("aten::lstm.input", both, 1));
  EXPECT_FALSE(call("aten::lstm.input", both, 0));
  EXPECT_FALSE(call("aten::gru.input", meta({1, 3, 4}), 0));
  EXPECT_FALSE(call("aten::rnn_tanh.input", meta({1, 3, 4}), 1));
}

INSTANTIATE_TEST_SUITE_P(Targets,
                         HostileCalls,
                         testing::Values("cpu", "cuda:sm_90"),
                         [](const auto& info) {
                           return std::string(info.param) == "cpu" ? "cpu" : "cuda";
                         });

}  // namespace
}  // namespace elixir::capture
