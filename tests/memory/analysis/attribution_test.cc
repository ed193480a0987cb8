// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/allocation_unit.h"
#include "fakes/program_builder.h"

namespace elixir::memory {
namespace {

using fakes::ProgramBuilder;
using program::DType;
using program::Ints;
using program::TensorRef;
using ::testing::ElementsAre;

program::Profile profile_of(program::Program program,
                            program::Optimizer optimizer = program::Optimizer::kAdamW) {
  program::Profile profile;
  profile.model_path = "m.pt";
  profile.program = std::move(program);
  profile.optimizer = optimizer;
  profile.memory = summarise(profile.program, optimizer);
  return profile;
}

const ModuleShare& module_at(const Attribution& attribution, const std::string& path) {
  for (const ModuleShare& module : attribution.modules) {
    if (module.path == path) return module;
  }
  ADD_FAILURE() << "no module " << path;
  static const ModuleShare none;
  return none;
}

TEST(Attribution, GivesEveryStorageOfASmallProgramToItsModule) {
  ProgramBuilder builder;
  const TensorRef x = builder.input("x", {256}, DType::kFloat32);  // 1024 bytes
  builder.set_module("a");
  const TensorRef w = builder.parameter("a.w", {512});  // 2048
  builder.set_module("a.b");
  const TensorRef buffer = builder.buffer("a.b.mean", {1});              // 4, rounded to 512
  const TensorRef y = builder.call("op::first", {x, w, buffer}, {256});  // operator 0: 1024
  const TensorRef z = builder.call("op::second", {y}, {1024});           // operator 1: 4096
  builder.set_module("");
  const TensorRef loss = builder.call("op::loss", {z}, Ints{});  // operator 2: 512
  builder.set_loss(loss);
  builder.start_backward();
  builder.set_module("a");
  const TensorRef g = builder.call("op::first", {loss, y, w}, {512});  // operator 3: 2048
  builder.set_gradient(w, g);
  const Attribution attribution = attribute(profile_of(builder.build()));

  EXPECT_EQ(attribution.parameters, 512);
  EXPECT_EQ(attribution.operator_calls, 4);
  EXPECT_THAT(attribution.inputs, ElementsAre("x float32[256]"));
  // Always alive: input 1024, parameter 2048, buffer 512, optimizer 2 x 2048. The peak is in
  // operator 2: y is an activation, and z lives until the loss exists.
  constexpr std::int64_t kAlways = 1024 + 2048 + 512 + 4096;
  EXPECT_EQ(attribution.peak_bytes, kAlways + 1024 + 4096 + 512);
  EXPECT_EQ(attribution.peak_operator, "op::loss");
  EXPECT_EQ(attribution.peak_module, "");

  EXPECT_EQ(module_at(attribution, "").at_peak_bytes, 1024 + 512);
  EXPECT_EQ(module_at(attribution, "a").at_peak_bytes, 2048 + 4096);
  EXPECT_EQ(module_at(attribution, "a").parameters, 512);
  EXPECT_EQ(module_at(attribution, "a.b").at_peak_bytes, 512 + 1024 + 4096);
  EXPECT_EQ(module_at(attribution, "a.b").activations_bytes, 1024);
  EXPECT_EQ(module_at(attribution, "a").activations_bytes, 0);
  // The loss is used in backward.
  EXPECT_EQ(module_at(attribution, "").activations_bytes, 512);
  EXPECT_EQ(module_at(attribution, "").peak_inside_bytes, attribution.peak_bytes);
  EXPECT_EQ(module_at(attribution, "a.b").peak_inside_bytes, kAlways + 1024 + 4096);
  EXPECT_EQ(module_at(attribution, "a").peak_inside_bytes, kAlways + 1024 + 4096);

  // By module, name, phase: the backward op::first is separate from the forward one.
  ASSERT_EQ(attribution.operators.size(), 4U);
  EXPECT_EQ(attribution.operators[1].module, "a");
  EXPECT_EQ(attribution.operators[1].phase, program::Phase::kBackward);
  EXPECT_THAT(attribution.operators[1].call_bytes, ElementsAre(2048));
  EXPECT_EQ(attribution.operators[2].module, "a.b");
  EXPECT_EQ(attribution.operators[2].name, "op::first");
  EXPECT_EQ(attribution.operators[2].at_peak_bytes, 1024);
  EXPECT_EQ(attribution.operators[2].activations_bytes, 1024);
  EXPECT_EQ(attribution.operators[3].activations_bytes, 0);
}

TEST(Attribution, KnowsWhatHasNoModule) {
  ProgramBuilder builder;
  const TensorRef x = builder.input("x", {256}, DType::kFloat32);
  builder.set_loss(builder.call("op::loss", {x}, Ints{}));
  program::Program program = builder.build();
  program.operators[0].module = -1;
  const Attribution attribution = attribute(profile_of(program, program::Optimizer::kNone));
  ASSERT_EQ(attribution.modules.size(), 2U);
  EXPECT_EQ(attribution.modules.back().path, kUnattributed);
  EXPECT_EQ(attribution.modules.back().at_peak_bytes, 512);
  EXPECT_EQ(attribution.modules.back().peak_inside_bytes, 1024 + 512);
  EXPECT_EQ(attribution.operators.front().module, kUnattributed);
}

TEST(Attribution, BytesBeyondTheTensorsAreNobodys) {
  program::Profile profile = profile_of(fakes::mlp({64, 64}, 8));
  const Attribution without = attribute(profile);
  profile.memory.peak_allocated_bytes += 4096;
  const Attribution with = attribute(profile);
  EXPECT_EQ(with.modules.size(), without.modules.size() + 1);
  EXPECT_EQ(with.modules.back().path, kUnattributed);
  EXPECT_EQ(with.modules.back().at_peak_bytes, 4096);
}

TEST(Attribution, WorkspacesBelongToTheOperatorsThatAskedForThem) {
  program::Profile profile = profile_of(fakes::mlp({64, 64}, 8));
  profile.memory.peak_allocated_bytes += 4096;
  profile.memory.workspaces_at_peak = {{.made_at = 0, .bytes = 3072},
                                       {.made_at = std::nullopt, .bytes = 1024}};
  std::int64_t bytes = 0;
  for (const OperatorShare& op : attribute(profile).operators) bytes += op.workspaces_bytes;
  EXPECT_EQ(bytes, 3072);
  EXPECT_EQ(attribute(profile).modules.back().at_peak_bytes, 4096) << "modules stay as they are";
}

TEST(Attribution, SurvivesNamesOfManyParts) {
  std::string deep = "a";
  for (int i = 0; i < 100'000; ++i) deep += ".a";
  ProgramBuilder builder;
  const TensorRef x = builder.input("x", {256}, DType::kFloat32);
  builder.parameter(deep + ".w", {4});
  builder.set_module(deep);
  builder.set_loss(builder.call("op::loss", {x}, Ints{}));
  const Attribution attribution = attribute(profile_of(builder.build()));
  EXPECT_EQ(module_at(attribution, deep).parameters, 4);
}

/// Calls of random programs, assigned to random modules or to none.
program::Program scattered(std::uint64_t seed) {
  program::Program program = fakes::random_program(seed);
  std::mt19937_64 random(seed);
  program.modules = {"", "l", "l.0", "l.1", "shared", "l.2.inner"};
  for (program::Operator& op : program.operators) {
    op.module = static_cast<std::int32_t>(random() % 7) - 1;
  }
  return program;
}

TEST(Attribution, SharesAddUpToTheWhole) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const program::Profile profile = profile_of(
        scattered(seed), seed % 3 == 0 ? program::Optimizer::kSgd : program::Optimizer::kAdamW);
    const Attribution attribution = attribute(profile);
    std::int64_t at_peak = 0;
    std::int64_t parameters = 0;
    std::int64_t activations = 0;
    for (const ModuleShare& module : attribution.modules) {
      at_peak += module.at_peak_bytes;
      parameters += module.parameters;
      activations += module.activations_bytes;
    }
    EXPECT_EQ(at_peak, profile.memory.peak_allocated_bytes) << seed;
    EXPECT_EQ(parameters, profile.program.parameter_count()) << seed;
    EXPECT_EQ(activations,
              attribution.made_bytes[static_cast<std::size_t>(program::Category::kActivation)])
        << seed;

    // Summed from the program in another way: by storage.
    std::int64_t allocated = 0;
    for (const program::Storage& storage : profile.program.storages) {
      if (storage.allocated_at >= 0 && !storage.on_host)
        allocated += rounded_allocation(storage.bytes);
    }
    std::int64_t by_operator = 0;
    std::int64_t calls = 0;
    std::int64_t operator_activations = 0;
    for (const OperatorShare& op : attribution.operators) {
      by_operator += op.allocated_bytes();
      calls += op.calls();
      operator_activations += op.activations_bytes;
      EXPECT_LE(op.at_peak_bytes, op.allocated_bytes()) << seed;
    }
    EXPECT_EQ(by_operator, allocated) << seed;
    EXPECT_EQ(calls, static_cast<std::int64_t>(profile.program.operators.size())) << seed;
    EXPECT_EQ(operator_activations, activations) << seed;
    EXPECT_EQ(module_at(attribution, "").peak_inside_bytes <= attribution.peak_bytes, true);
  }
}

}  // namespace
}  // namespace elixir::memory
