// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/profile_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "fakes/program_builder.h"
#include "program/workspace_answers.h"

namespace elixir::memory {
namespace {

using fakes::TransformerOptions;
using ::testing::IsEmpty;

Attribution attribution_of(program::Program program,
                           program::Optimizer optimizer = program::Optimizer::kAdamW) {
  program::Profile profile;
  profile.model_path = "m.pt";
  profile.program = std::move(program);
  profile.optimizer = optimizer;
  profile.memory = summarise(profile.program, optimizer);
  return attribute(profile);
}

program::Program transformer(int layers, std::int64_t tokens = 16) {
  TransformerOptions options;
  options.layers = layers;
  options.tokens = tokens;
  return fakes::transformer(options);
}

const ModuleChange& change_of(const ProfileChanges& changes, const std::string& path) {
  const auto found = std::find_if(changes.modules.begin(),
                                  changes.modules.end(),
                                  [&](const ModuleChange& change) { return change.path == path; });
  if (found != changes.modules.end()) return *found;
  ADD_FAILURE() << path << " is not listed";
  static const ModuleChange none;
  return none;
}

TEST(ProfileChanges, OfAProgramWithItselfIsEmpty) {
  const Attribution attribution = attribution_of(transformer(2));
  const ProfileChanges changes = compare(attribution, attribution);
  EXPECT_TRUE(changes.same());
  EXPECT_THAT(changes.modules, IsEmpty());
  EXPECT_THAT(changes.operators, IsEmpty());
  EXPECT_EQ(growth(changes.peak_allocated_bytes), 0);
}

TEST(ProfileChanges, NamesWhoKnewTheWorkspaces) {
  program::Profile profile;
  profile.program = transformer(2);
  profile.memory = summarise(profile.program, profile.optimizer);
  const Attribution before = attribute(profile);
  profile.program.workspaces = std::make_shared<const program::WorkspaceAnswers>(
      program::WorkspaceAnswers{.source = "cuDNN 9.19.0", .measured = false, .bytes = {}});
  const ProfileChanges changes = compare(before, attribute(profile));
  EXPECT_EQ(changes.workspaces.before, "nobody was asked");
  EXPECT_EQ(changes.workspaces.after, "cuDNN 9.19.0");
}

TEST(ProfileChanges, AnAddedLayerIsNewAndTheOthersAreMatched) {
  const ProfileChanges changes =
      compare(attribution_of(transformer(2)), attribution_of(transformer(3)));
  EXPECT_FALSE(changes.same());
  const ModuleChange& added = change_of(changes, "h.2.mlp");
  EXPECT_EQ(added.presence, Presence::kNew);
  EXPECT_EQ(added.parameters.before, 0);
  EXPECT_EQ(added.parameters.after, 2 * 4 * 64 * 64 + 4 * 64 + 64);
  for (const ModuleChange& change : changes.modules) {
    const bool in_new_layer = change.path.rfind("h.2", 0) == 0;
    EXPECT_EQ(change.presence == Presence::kNew, in_new_layer) << change.path;
    if (!in_new_layer) {
      EXPECT_FALSE(change.parameters.changed()) << change.path;
      EXPECT_FALSE(change.activations_bytes.changed()) << change.path;
    }
  }
  for (const OperatorChange& change : changes.operators) {
    const bool in_new_layer = change.module.rfind("h.2", 0) == 0;
    EXPECT_EQ(change.presence == Presence::kNew, in_new_layer) << change.module << change.name;
    EXPECT_EQ(change.calls_resized, 0);
  }
}

TEST(ProfileChanges, BackwardsIsTheSameWithSignsExchanged) {
  const Attribution small = attribution_of(transformer(2));
  const Attribution large = attribution_of(transformer(3));
  const ProfileChanges up = compare(small, large);
  const ProfileChanges down = compare(large, small);
  ASSERT_EQ(up.modules.size(), down.modules.size());
  ASSERT_EQ(up.operators.size(), down.operators.size());
  for (const ModuleChange& change : up.modules) {
    const ModuleChange& other = change_of(down, change.path);
    EXPECT_EQ(growth(other.at_peak_bytes), -growth(change.at_peak_bytes)) << change.path;
    EXPECT_EQ(other.presence == Presence::kGone, change.presence == Presence::kNew) << change.path;
  }
}

TEST(ProfileChanges, GrowthOfModulesAndCategoriesAddsUpToThePeaks) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Attribution before =
        attribution_of(fakes::random_program(seed), program::Optimizer::kAdamW);
    const Attribution after =
        attribution_of(fakes::random_program(seed + 1), program::Optimizer::kAdam);
    const ProfileChanges changes = compare(before, after);
    std::int64_t by_module = 0;
    std::int64_t previous = INT64_MAX;
    for (const ModuleChange& change : changes.modules) {
      by_module += growth(change.at_peak_bytes);
      EXPECT_LE(growth(change.at_peak_bytes), previous) << "not sorted, seed " << seed;
      previous = growth(change.at_peak_bytes);
    }
    EXPECT_EQ(by_module, growth(changes.peak_allocated_bytes)) << seed;
    std::int64_t by_category = 0;
    for (const CategoryChange& change : changes.categories) {
      by_category += growth(change.at_peak_bytes);
    }
    EXPECT_EQ(by_category, growth(changes.peak_allocated_bytes)) << seed;
    previous = INT64_MAX;
    for (const OperatorChange& change : changes.operators) {
      EXPECT_LE(growth(change.allocated_bytes), previous) << "not sorted, seed " << seed;
      previous = growth(change.allocated_bytes);
    }
  }
}

TEST(ProfileChanges, CallsAreMatchedByOccurrence) {
  const auto program = [](const std::vector<std::int64_t>& sizes) {
    fakes::ProgramBuilder builder;
    program::TensorRef x = builder.input("x", {1}, program::DType::kFloat32);
    builder.set_module("m");
    for (const std::int64_t size : sizes) x = builder.call("op::f", {x}, {size});
    builder.set_loss(x);
    return builder.build();
  };
  // One of four calls allocates more now. A fifth call is new.
  const ProfileChanges changes = compare(attribution_of(program({256, 512, 256, 128})),
                                         attribution_of(program({256, 1024, 256, 128, 128})));
  ASSERT_EQ(changes.operators.size(), 1U);
  const OperatorChange& change = changes.operators.front();
  EXPECT_EQ(change.presence, Presence::kBoth);
  EXPECT_EQ(change.calls, (Amount{4, 5}));
  EXPECT_EQ(change.calls_resized, 1);
  EXPECT_EQ(growth(change.allocated_bytes), 2048 + 512);
}

TEST(ProfileChanges, TiesAreInTheOrderOfNames) {
  const auto program = [](bool with) {
    fakes::ProgramBuilder builder;
    program::TensorRef x = builder.input("x", {1}, program::DType::kFloat32);
    builder.set_loss(x);
    for (const char* path : {"c", "a", "b"}) {
      builder.set_module(path);
      if (with) builder.parameter(std::string(path) + ".w", {128});
    }
    return builder.build();
  };
  const ProfileChanges changes =
      compare(attribution_of(program(false)), attribution_of(program(true)));
  ASSERT_EQ(changes.modules.size(), 3U);
  EXPECT_EQ(changes.modules[0].path, "a");
  EXPECT_EQ(changes.modules[1].path, "b");
  EXPECT_EQ(changes.modules[2].path, "c");
}

TEST(ProfileChanges, NotesWhatElseDiffers) {
  const ProfileChanges changes =
      compare(attribution_of(transformer(2, 16)),
              attribution_of(transformer(2, 32), program::Optimizer::kSgd));
  EXPECT_TRUE(changes.inputs.changed());
  EXPECT_TRUE(changes.optimizer.changed());
  EXPECT_FALSE(changes.target.changed());
  EXPECT_LT(growth(changes.categories[static_cast<std::size_t>(program::Category::kOptimizerState)]
                       .made_bytes),
            0);
}

}  // namespace
}  // namespace elixir::memory
