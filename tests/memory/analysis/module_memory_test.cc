// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/module_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/allocation_unit.h"
#include "core/error.h"
#include "fakes/program_builder.h"

namespace elixir::memory {
namespace {

using fakes::ProgramBuilder;
using fakes::TensorRef;
using program::Program;
using ::testing::ElementsAre;

/// The number of float32 elements that use `blocks` blocks of 512 bytes.
program::Ints blocks(std::int64_t count) {
  return {128 * count};
}

std::vector<ModuleMemory> tree_of(const Program& program) {
  return module_memory(program, make_timeline(program, 0));
}

const ModuleMemory& at(const std::vector<ModuleMemory>& tree, const std::string& path) {
  const auto found = std::find_if(
      tree.begin(), tree.end(), [&](const ModuleMemory& module) { return module.path == path; });
  if (found == tree.end()) throw std::out_of_range("no module " + path);
  return *found;
}

/// x -> a.in (weight of 2 blocks, makes 3 blocks kept for backward) -> a.out (a temporary of 10
/// blocks, then a result of 1) -> loss; backward in the reverse order.
Program two_modules() {
  ProgramBuilder builder;
  const TensorRef x = builder.input("x", blocks(1), program::DType::kFloat32);
  const TensorRef weight = builder.parameter("a.in.weight", blocks(2));
  const TensorRef bias = builder.parameter("a.out.bias", {1});
  builder.set_module("a.in");
  const TensorRef y = builder.call("aten::mm", {x, weight}, blocks(3), 1000);
  builder.set_module("a.out");
  const TensorRef scratch = builder.call("aten::exp", {y}, blocks(10));
  const TensorRef z = builder.call("aten::add", {scratch, bias}, blocks(1), 7);
  builder.set_module("");
  const TensorRef loss = builder.call("aten::mean", {z}, {});
  builder.set_loss(loss);
  builder.start_backward();
  builder.set_module("a.in");
  const TensorRef gradient = builder.call("aten::mm", {y, x}, blocks(2), 2000);
  builder.set_gradient(weight, gradient);
  return builder.build();
}

TEST(ModuleMemory, HasTheModulesOfThePathsAndTheirParents) {
  const auto tree = tree_of(two_modules());
  ASSERT_EQ(tree.size(), 4U);
  EXPECT_EQ(tree[0].path, "");
  EXPECT_EQ(tree[0].parent, -1);
  EXPECT_EQ(at(tree, "a").name, "a");  // no call is in it, Program::modules does not name it
  EXPECT_EQ(at(tree, "a.in").name, "in");
  EXPECT_THAT(tree[0].children, ElementsAre(1));
  EXPECT_THAT(at(tree, "a").children, ElementsAre(2, 3));
  EXPECT_EQ(at(tree, "a.out").parent, 1);
}

TEST(ModuleMemory, CountsInclusively) {
  const auto tree = tree_of(two_modules());
  EXPECT_EQ(at(tree, "a.in").parameters_bytes, 2 * 512);
  EXPECT_EQ(at(tree, "a.out").parameters_bytes, 512);  // 4 bytes take a block
  EXPECT_EQ(at(tree, "a").parameters_bytes, 3 * 512);
  EXPECT_EQ(tree[0].parameters_bytes, 3 * 512);

  EXPECT_EQ(at(tree, "a.in").activations_bytes, 3 * 512);
  EXPECT_EQ(at(tree, "a.out").activations_bytes, 0);  // nothing of it is used in backward
  EXPECT_EQ(tree[0].activations_bytes, 3 * 512);

  EXPECT_EQ(at(tree, "a.in").operators, 2);
  EXPECT_EQ(at(tree, "a.out").operators, 2);
  EXPECT_EQ(tree[0].operators, 5);
  EXPECT_EQ(at(tree, "a.in").flops, 3000);
  EXPECT_EQ(tree[0].flops, 3007);
}

TEST(ModuleMemory, PeakInsideIsThatOfTheDeviceWhileItsOperatorsRun) {
  const auto tree = tree_of(two_modules());
  // Before the step: x 1, weight 2, bias 1. a.in: + y 3 (forward); y, loss, gradient (backward).
  EXPECT_EQ(at(tree, "a.in").peak_bytes, (4 + 3 + 2) * 512);
  // a.out's second call has y, the temporary and its result.
  EXPECT_EQ(at(tree, "a.out").peak_bytes, (4 + 3 + 10 + 1) * 512);
  EXPECT_EQ(tree[0].peak_bytes, at(tree, "a.out").peak_bytes);
}

TEST(ModuleMemory, SharedParametersAreInEveryModuleThatNamesThemOnce) {
  ProgramBuilder builder;
  ProgramBuilder::ParameterOptions tied;
  tied.other_names = {"net.head.weight", "net.table.twin"};
  const TensorRef table = builder.parameter("net.table.weight", blocks(4), tied);
  for (const char* module : {"net.table", "net.head", "net.other"}) {
    builder.set_module(module);
    builder.call("aten::mm", {table}, blocks(1));
  }
  const auto tree = tree_of(builder.build());
  EXPECT_EQ(at(tree, "net.table").parameters_bytes, 4 * 512);
  EXPECT_EQ(at(tree, "net.head").parameters_bytes, 4 * 512);
  EXPECT_EQ(at(tree, "net.other").parameters_bytes, 0);
  EXPECT_EQ(at(tree, "net").parameters_bytes, 4 * 512);
}

TEST(ModuleMemory, ParametersOfUnknownModulesBelongToTheNextOneUp) {
  ProgramBuilder builder;
  const TensorRef weight = builder.parameter("a.alias.of.weight", blocks(1));
  builder.parameter("loose", blocks(1));
  builder.set_module("a");
  builder.call("aten::mm", {weight}, blocks(1));
  const auto tree = tree_of(builder.build());
  EXPECT_EQ(tree.size(), 2U);
  EXPECT_EQ(at(tree, "a").parameters_bytes, 512);
  EXPECT_EQ(tree[0].parameters_bytes, 2 * 512);
}

TEST(ModuleMemory, UnattributedCallsCountForTheRoot) {
  Program program = two_modules();
  program.operators[1].module = -1;
  const auto tree = tree_of(program);
  EXPECT_EQ(at(tree, "a.out").operators, 1);
  EXPECT_EQ(tree[0].operators, 5);
}

TEST(ModuleMemory, AProgramWithoutOperatorsHasARoot) {
  ProgramBuilder builder;
  builder.parameter("weight", blocks(1));
  const auto tree = tree_of(builder.build());
  ASSERT_EQ(tree.size(), 1U);
  EXPECT_EQ(tree[0].parameters_bytes, 512);
  EXPECT_EQ(tree[0].peak_bytes, 0);
}

TEST(ModuleMemory, APathOfVeryManyPartsIsOnePart) {
  ProgramBuilder builder;
  std::string path = "m";
  for (int i = 0; i < 100000; ++i) path += ".m";
  builder.set_module(path);
  builder.call("aten::ones", {}, blocks(1));
  const auto tree = tree_of(builder.build());
  ASSERT_EQ(tree.size(), 2U);
  EXPECT_EQ(tree[1].name, path);
  EXPECT_EQ(tree[1].operators, 1);
}

TEST(ModuleMemory, RefusesTheTimelineOfAnotherProgram) {
  EXPECT_THROW((void)module_memory(two_modules(), Timeline{}), Error);
}

// Computes each figure again from its definition, for programs of every shape.
TEST(ModuleMemory, AgreesWithItsDefinitionOnRandomPrograms) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Program program = fakes::random_program(seed);
    program.modules = {"", "a", "a.b", "a.b.c", "d", "ab"};
    for (auto& op : program.operators) {
      op.module = static_cast<std::int32_t>((op.id * 7 + static_cast<int>(seed)) % 7) - 1;
    }
    const Timeline timeline = make_timeline(program, 0);
    for (const ModuleMemory& module : module_memory(program, timeline)) {
      const auto inside = [&](const program::Operator& op) {
        if (module.path.empty()) return true;
        if (op.module < 0) return false;
        const std::string path = program.modules[static_cast<std::size_t>(op.module)] + ".";
        return path.rfind(module.path + ".", 0) == 0;
      };
      std::int64_t peak = 0;
      std::int64_t calls = 0;
      for (const auto& op : program.operators) {
        if (!inside(op)) continue;
        ++calls;
        peak = std::max(peak, timeline.allocated_bytes[static_cast<std::size_t>(op.id)]);
      }
      std::int64_t activations = 0;
      for (const auto& storage : program.storages) {
        if (storage.category == program::Category::kActivation &&
            inside(program.operators[static_cast<std::size_t>(storage.allocated_at)])) {
          activations += rounded_allocation(storage.bytes);
        }
      }
      EXPECT_EQ(module.operators, calls) << seed << " " << module.path;
      EXPECT_EQ(module.peak_bytes, peak) << seed << " " << module.path;
      EXPECT_EQ(module.activations_bytes, activations) << seed << " " << module.path;
    }
  }
}

TEST(ModuleMemory, TheRootHasWhatTheSummaryHas) {
  const Program program = fakes::transformer({});
  const auto tree = tree_of(program);
  EXPECT_EQ(tree[0].parameters_bytes,
            summarise(program, program::Optimizer::kNone).parameters_bytes);
  EXPECT_EQ(tree[0].peak_bytes, make_timeline(program, 0).peak_bytes);
  EXPECT_EQ(at(tree, "h.1.attn").activations_bytes, at(tree, "h.0.attn").activations_bytes);
  EXPECT_GT(at(tree, "h.1.attn").activations_bytes, 0);
}

}  // namespace
}  // namespace elixir::memory
