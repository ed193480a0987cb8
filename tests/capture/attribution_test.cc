// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Every operator has its module: in traced and scripted models, in forward and backward.
#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "capture/capture.h"
#include "models.h"

namespace elixir::capture {
namespace {

using program::Phase;

Captured capture_for_cpu(const std::string& name) {
  Options options;
  options.target = *program::Target::parse("cpu");
  options.inputs = inputs_of(name, "float32");
  return capture(Model::load(test_model(name)), options);
}

/// The number of calls of `op` in `module` and phase.
int count(const program::Program& program,
          const std::string& module,
          const std::string& op,
          Phase phase) {
  return static_cast<int>(std::count_if(
      program.operators.begin(), program.operators.end(), [&](const program::Operator& call) {
        return call.module >= 0 &&
               program.modules[static_cast<std::size_t>(call.module)] == module &&
               call.name == op && call.phase == phase;
      }));
}

TEST(Attribution, ScriptedInstancesThatShareOneGraphAreToldApart) {
  const program::Program program = capture_for_cpu("control-flow").program;
  for (const std::string list : {"first", "second"}) {
    for (const std::string index : {"0", "1"}) {
      for (const std::string part : {"up", "down"}) {
        const std::string module = list + "." + index + "." + part;
        EXPECT_EQ(count(program, module, "aten::addmm", Phase::kForward), 1) << module;
        EXPECT_EQ(count(program, module, "aten::mm", Phase::kBackward), 2) << module;
      }
      const std::string block = list + "." + index;
      EXPECT_EQ(count(program, block + ".norm", "aten::native_layer_norm", Phase::kForward), 1);
      EXPECT_EQ(
          count(program, block + ".norm", "aten::native_layer_norm_backward", Phase::kBackward), 1);
      EXPECT_EQ(count(program, block, "aten::gelu", Phase::kForward), 1);
      EXPECT_EQ(count(program, block, "aten::gelu_backward", Phase::kBackward), 1);
    }
  }
}

TEST(Attribution, OtherMethodsOfAModuleBelongToIt) {
  const program::Program program = capture_for_cpu("control-flow").program;
  EXPECT_EQ(count(program, "", "aten::mul", Phase::kForward), 3);
}

TEST(Attribution, TracedModelsNameTheirContainers) {
  const program::Program program = capture_for_cpu("gpt2").program;
  for (const std::string block : {"model.transformer.h.0", "model.transformer.h.1"}) {
    EXPECT_EQ(count(program, block + ".attn.c_attn", "aten::addmm", Phase::kForward), 1);
    EXPECT_EQ(count(program, block + ".attn.c_attn", "aten::mm", Phase::kBackward), 2);
    EXPECT_EQ(count(program, block + ".ln_1", "aten::native_layer_norm", Phase::kForward), 1);
    EXPECT_EQ(count(program, block + ".ln_1", "aten::native_layer_norm_backward", Phase::kBackward),
              1);
  }
  EXPECT_EQ(count(program, "model.lm_head", "aten::mm", Phase::kForward), 1);
}

TEST(Attribution, NothingIsLeftOver) {
  for (const std::string name : {"gpt2", "control-flow", "t5", "resnet50"}) {
    const Captured captured = capture_for_cpu(name);
    EXPECT_EQ(captured.unattributed_operators, 0) << name;
    EXPECT_EQ(std::count_if(captured.program.operators.begin(),
                            captured.program.operators.end(),
                            [](const program::Operator& call) { return call.module < 0; }),
              0)
        << name;
  }
}

TEST(Attribution, ModulesAreListedOnceRootFirst) {
  const program::Program program = capture_for_cpu("gpt2").program;
  ASSERT_FALSE(program.modules.empty());
  EXPECT_EQ(program.modules.front(), "");
  std::map<std::string, int> times;
  for (const std::string& module : program.modules) ++times[module];
  for (const auto& [module, n] : times) EXPECT_EQ(n, 1) << module;
}

}  // namespace
}  // namespace elixir::capture
