// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Arguments by schema name: rules, choices and readers of recorded calls only ask for names that
// the operator has.
#include "capture/record/arguments/call.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "capture/decompositions/decompositions.h"
#include "capture/host_cpu.h"
#include "capture/meta/meta_kernels.h"
#include "capture/record/dispatch/recorder.h"
#include "core/error.h"
#include "operators/flops.h"
#include "operators/scratch/rules/rules.h"
#include "program/arguments/arguments.h"
#include "program/arguments/writes.h"
#include "random_calls.h"

namespace elixir::capture {
namespace {

const c10::FunctionSchema& schema_of(std::string_view op) {
  const std::size_t dot = op.find('.');
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(
          std::string(op.substr(0, dot)).c_str(),
          std::string(dot == std::string_view::npos ? "" : op.substr(dot + 1)).c_str())
      .schema();
}

at::Tensor meta(const Sizes& sizes) {
  return at::empty(sizes, at::TensorOptions().device(c10::kMeta));
}

TEST(Call, FindsArgumentsByTheNamesOfTheSchema) {
  const Values arguments{meta({2, 3}), 0.5, true};
  const Call call(schema_of("aten::dropout"), arguments);
  EXPECT_EQ(call.position("train"), 2U);
  EXPECT_TRUE(call.tensor("input").is_same(arguments[0].toTensor()));
  EXPECT_EQ(call.number("p"), 0.5);
  EXPECT_TRUE(call.flag("train"));
  EXPECT_THROW(static_cast<void>(call.tensor("p")), c10::Error);
}

TEST(Call, SaysWhatIsNone) {
  const Values arguments{meta({2, 3}), c10::IValue(), false, c10::IValue()};
  const Call call(schema_of("aten::nansum"), arguments);
  EXPECT_TRUE(call.is_none("dim"));
  EXPECT_TRUE(call.integers_or_empty("dim").empty());
  EXPECT_EQ(call.dtype_or("dtype", at::kHalf), at::kHalf);
  EXPECT_FALSE(call.tensor_or_undefined("dtype").defined());
}

TEST(Call, OfAnUnknownNameIsABug) {
  const Values arguments{meta({2, 3}), 0.5, true};
  const Call call(schema_of("aten::dropout"), arguments);
  try {
    static_cast<void>(call.tensor("self"));
    FAIL() << "dropout has no argument `self`";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kInternal);
    EXPECT_EQ(error.info().message, "aten::dropout has no argument `self`");
  }
  EXPECT_THROW(Call(schema_of("aten::relu"), arguments), Error);
}

/// The rule of an out-of-place form reads the arguments of the in-place operator by the same names.
TEST(Call, InPlaceOperatorsNameTheirArgumentsAsTheirOtherFormDoes) {
  int compared = 0;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op || !find_geometry(c10::toString(name)).in_place) continue;
    SCOPED_TRACE(c10::toString(name));
    c10::OperatorName other = name;
    other.name.pop_back();
    const auto& own_arguments = op->schema().arguments();
    const auto& arguments = schema_of(c10::toString(other)).arguments();
    ASSERT_EQ(own_arguments.size(), arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      EXPECT_EQ(own_arguments[i].name(), arguments[i].name());
    }
    EXPECT_EQ(arguments[0].name(), "self");
    ++compared;
  }
  EXPECT_GE(compared, 10);
}

/// Values for all arguments of one type, in a call that fits most rules: equal sizes, small
/// numbers.
struct Draw {
  std::int64_t dimensions, number, tensors;
  bool flag, none;
};

std::vector<Draw> draws() {
  std::vector<Draw> all;
  for (const bool flag : {false, true}) {
    for (const bool none : {false, true}) {
      for (const std::int64_t number : {1, 2}) {
        for (const std::int64_t tensors : {2, 4, 8}) {
          for (std::int64_t dimensions = 1; dimensions <= 5; ++dimensions) {
            all.push_back({dimensions, number, tensors, flag, none});
          }
        }
      }
    }
  }
  return all;
}

template <class Element>
c10::List<Element> repeated(std::int64_t count, const Element& element) {
  c10::List<Element> list;
  for (std::int64_t i = 0; i < count; ++i) list.push_back(element);
  return list;
}

c10::IValue drawn(const Draw& draw, const c10::Argument& argument, const c10::TypePtr& type) {
  const auto tensor = [&] {
    const bool indices =
        argument.name() == "indices" || argument.name() == "index" || argument.name() == "target";
    return meta(Sizes(static_cast<std::size_t>(draw.dimensions), 2))
        .to(indices ? at::kLong : at::kFloat);
  };
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
      if (draw.none) return {};
      return drawn(draw, argument, type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::TensorType:
      return tensor();
    case c10::TypeKind::FloatType:
      return draw.flag ? 0.5 : 0.0;
    case c10::TypeKind::BoolType:
      return draw.flag;
    case c10::TypeKind::StringType:
      return std::string("gesvd");
    case c10::TypeKind::NumberType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return draw.number;
    case c10::TypeKind::ListType: {
      const c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
      if (element->kind() == c10::TypeKind::TensorType) return repeated(draw.tensors, tensor());
      if (element->kind() == c10::TypeKind::BoolType) return repeated(4, true);
      if (element->kind() == c10::TypeKind::OptionalType) {
        return repeated(draw.tensors, std::optional<at::Tensor>(tensor()));
      }
      return Sizes(static_cast<std::size_t>(draw.tensors), draw.number);
    }
    default:
      return {};
  }
}

Values drawn(const Draw& draw, const c10::FunctionSchema& schema) {
  Values arguments;
  for (const c10::Argument& argument : schema.arguments()) {
    arguments.push_back(drawn(draw, argument, argument.type()));
  }
  return arguments;
}

/// Calls that the kernel accepts, for operators that have such calls.
std::vector<Values> accepted_calls(const std::string& op) {
  constexpr std::uint64_t kDraws = 40;
  std::vector<Values> calls;
  RandomCalls generators = all_random_calls();
  for (const RandomCall& call : structured_calls()) generators.push_back(call);
  for (const RandomCall& call : generators) {
    if (call.op != op) continue;
    for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
      Random random(seed);
      try {
        Values arguments = call.draw(random);
        for (c10::IValue& value : arguments) {
          value = map_tensors(value, [](const at::Tensor& tensor) { return to_meta(tensor); });
        }
        calls.push_back(std::move(arguments));
      } catch (const c10::Error&) {
        continue;  // drawn with a forward kernel that refused
      }
    }
  }
  return calls;
}

/// Whether `ask(call)` succeeds. A refusal is allowed; asking for a name that does not exist is
/// not.
template <class Ask>
bool answers(const c10::FunctionSchema& schema, const Values& arguments, Ask ask) {
  try {
    ask(Call(schema, arguments));
    return true;
  } catch (const Error& error) {
    EXPECT_NE(error.info().code, ErrorCode::kInternal) << error.what();
  } catch (const std::exception&) {
    return false;
  }
  return false;
}

class NamesOfArguments : public testing::TestWithParam<const char*> {
 protected:
  const program::Target target_ = resolved(*program::Target::parse(GetParam()));
};

TEST_P(NamesOfArguments, AreKnownToEveryRule) {
  // Different tensors have unknown values; a layer has different sizes and asks oneDNN. Whole
  // models have both (equality_test.cc).
  const std::set<std::string> not_drawn{"aten::equal", "aten::mkldnn_rnn_layer"};
  for (const std::string& op : ruled_operators()) {
    SCOPED_TRACE(op);
    const Geometry geometry = find_geometry(op);
    const c10::FunctionSchema& schema = schema_of(op);
    std::vector<Values> calls = accepted_calls(op);
    for (const Draw& draw : draws()) calls.push_back(drawn(draw, schema));
    int answered = 0;
    for (const Values& arguments : calls) {
      answered += answers(schema, arguments, [&](const Call& call) {
        static_cast<void>(apply(geometry, target_, call));
      });
    }
    EXPECT_TRUE(answered > 0 || not_drawn.count(op) != 0) << "no call gets through the rule";
  }
}

TEST_P(NamesOfArguments, AreKnownToEveryChoice) {
  const bool cuda = is_cuda(target_);
  for (const Decompositions* table :
       {cuda ? &kCudaDecompositions : &kCpuDecompositions, &kCommonDecompositions}) {
    for (const Decomposition& choice : *table) {
      SCOPED_TRACE(choice.op);
      const c10::FunctionSchema& schema = schema_of(choice.op);
      int asked = 0;
      for (const Draw& draw : draws()) {
        const Values arguments = drawn(draw, schema);
        asked += answers(schema, arguments, [&](const Call& call) {
          static_cast<void>(choice.when(target_, call));
        });
        if (choice.call == nullptr) continue;  // only hints or refuses, never matches
        static_cast<void>(answers(schema, arguments, [&](const Call& call) {
          static_cast<void>(choice.call(target_, call));
        }));
      }
      EXPECT_GT(asked, 0) << "no call gets through the condition";
    }
  }
}

// --- Recorded calls: their names are in a table --------------------------------------------------

TEST(RecordedArguments, HaveTheNamesOfLibTorchsSchemas) {
  for (const program::ArgumentNames& entry : program::argument_names()) {
    const std::string op =
        std::string(entry.name) + (entry.overload.empty() ? "" : ".") + std::string(entry.overload);
    SCOPED_TRACE(op);
    std::vector<std::string_view> names;
    const c10::FunctionSchema& schema = schema_of(op);
    for (const c10::Argument& argument : schema.arguments()) names.push_back(argument.name());
    EXPECT_EQ(entry.arguments, names);
  }
}

program::Program recorded(const std::string& op, const Values& arguments) {
  const program::Target target = *program::Target::parse("cuda:sm_90");
  Recorder recorder(target, CaptureOn::kMeta);
  program::Operator call;
  call.id = 0;
  call.name = op.substr(0, op.find('.'));
  call.overload = op.substr(std::min(op.size(), call.name.size() + 1));
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      static_cast<void>(recorder.declare(tensor, program::Category::kInput));
    });
    call.arguments.push_back(recorder.argument(value));
  }
  program::Program program;
  program.target = target;
  program.storages = recorder.storages;
  program.operators.push_back(std::move(call));
  return program;
}

TEST(RecordedArguments, AreKnownToWhateverAsksForThem) {
  std::set<std::string> names;
  for (const program::ArgumentNames& entry : program::argument_names()) {
    names.insert(std::string(entry.name) + (entry.overload.empty() ? "" : ".") +
                 std::string(entry.overload));
  }
  for (const auto* topic : {&operators::kAttentionScripts,
                            &operators::kEmbeddingScripts,
                            &operators::kLossScripts,
                            &operators::kNormScripts,
                            &operators::kRecurrentScripts,
                            &operators::kReductionScripts}) {
    for (const operators::ScriptRule& rule : *topic) names.emplace(rule.name);
  }
  for (const std::string& op : names) {
    SCOPED_TRACE(op);
    const c10::FunctionSchema& schema = schema_of(op);
    int answered = 0;
    for (const Draw& draw : draws()) {
      const program::Program program = recorded(op, drawn(draw, schema));
      try {
        static_cast<void>(
            operators::call_scripts(program, operators::cuda_traits(program.target), {}));
        static_cast<void>(operators::flops_of(program.operators[0]));
        static_cast<void>(program::unreturned_writes(program.operators[0]));
        ++answered;
      } catch (const Error& error) {
        ASSERT_NE(error.info().code, ErrorCode::kInternal) << error.what();
      }
    }
    EXPECT_GT(answered, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets,
                         NamesOfArguments,
                         testing::Values("cpu", "cuda:sm_90"),
                         [](const auto& info) {
                           return std::string(info.param) == "cpu" ? "cpu" : "cuda";
                         });

}  // namespace
}  // namespace elixir::capture
