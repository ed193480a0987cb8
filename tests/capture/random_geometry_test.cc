// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares every geometry rule with the CPU kernel on random arguments: dtypes, sizes, strides,
// offsets and storage sizes of all results, and which argument a result is.
#include <functional>
#include <set>
#include <string>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "capture/host_cpu.h"
#include "capture/meta/meta_kernels.h"
#include "capture/record/arguments/values.h"
#include "random_calls.h"

namespace elixir::capture {
namespace {

const program::Target kThisCpu = resolved(*program::Target::parse("cpu"));

constexpr int kDraws = 150;
constexpr int kFewestAccepted = 40;

c10::OperatorHandle operator_named(const std::string& op) {
  const std::size_t dot = op.find('.');
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      op.substr(0, dot).c_str(), dot == std::string::npos ? "" : op.substr(dot + 1).c_str());
}

std::string geometry(const c10::IValue& value, const Values& arguments) {
  if (value.isTensor() && !value.toTensor().defined()) return "undefined ";
  std::string text;
  for_each_tensor(value, [&](const at::Tensor& tensor) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].isTensor() && arguments[i].toTensor().is_same(tensor)) {
        text += "argument " + std::to_string(i) + " ";
        return;
      }
    }
    text += c10::str(tensor.scalar_type(),
                     tensor.sizes(),
                     tensor.strides(),
                     "+",
                     tensor.storage_offset(),
                     " in ",
                     tensor.storage().nbytes(),
                     " bytes ");
  });
  return text;
}

std::string geometry(const Values& values, const Values& arguments) {
  std::string text;
  for (const c10::IValue& value : values) text += geometry(value, arguments) + "; ";
  return text;
}

/// The CPU kernel's results; nullopt when it refuses.
std::optional<Values> run_on_cpu(const c10::OperatorHandle& op, const Values& arguments) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  torch::jit::Stack stack = arguments;
  try {
    op.callBoxed(stack);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return stack;
}

Values on_meta(const Values& arguments) {
  Values values;
  for (const c10::IValue& argument : arguments) {
    values.push_back(
        map_tensors(argument, [](const at::Tensor& tensor) { return to_meta(tensor); }));
  }
  return values;
}

std::string describe(const Values& arguments) {
  std::string text;
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor()) {
      text += geometry(argument, {}) + ", ";
    } else {
      text += c10::str(argument, ", ");
    }
  }
  return text;
}

/// Silences warnings, because random calls cause many.
class Silence : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

class RandomGeometry : public testing::TestWithParam<RandomCall> {};

TEST_P(RandomGeometry, IsThatOfTheCpuKernel) {
  const RandomCall& call = GetParam();
  SCOPED_TRACE(call.op);
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard silent(&silence);
  const c10::OperatorHandle op = operator_named(call.op);
  const Geometry rule = find_geometry(call.op);
  ASSERT_NE(rule.rule, nullptr);
  int accepted = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    Random random(std::hash<std::string>{}(call.op) + static_cast<std::uint64_t>(draw));
    Values arguments;
    try {
      arguments = call.draw(random);
    } catch (const c10::Error&) {
      continue;  // drawn with a forward kernel that refused
    }
    const Values meta = on_meta(arguments);
    const std::string shown = describe(arguments);
    const std::optional<Values> expected = run_on_cpu(op, arguments);
    if (!expected) continue;
    ++accepted;
    const Values results = apply(rule, kThisCpu, Call(op.schema(), meta));
    ASSERT_EQ(geometry(results, meta), geometry(*expected, arguments)) << shown;
  }
  EXPECT_GE(accepted, kFewestAccepted);
}

std::string name_of_call(const testing::TestParamInfo<RandomCall>& info) {
  std::string name = info.param.op.substr(std::string("aten::").size());
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Operators,
                         RandomGeometry,
                         testing::ValuesIn(all_random_calls()),
                         name_of_call);

}  // namespace
}  // namespace elixir::capture
