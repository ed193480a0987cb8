// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/occupation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/allocation_unit.h"
#include "fakes/program_builder.h"
#include "memory/step/timeline.h"
#include "program/lifetimes.h"

namespace elixir::memory {
namespace {

TEST(Occupation, CountsElementsOfParametersBuffersAndGradients) {
  fakes::ProgramBuilder builder;
  const auto weight = builder.parameter("weight", {3});  // 12 bytes, not a block
  builder.parameter("frozen", {5}, {.trained = false});
  builder.buffer("running", {7});
  const auto y = builder.call("aten::mul", {weight}, {3});
  builder.set_loss(y);
  builder.start_backward();
  builder.set_gradient(weight, builder.call("aten::mul", {y}, {3}));
  const Occupation found = occupation(builder.build());
  EXPECT_EQ(found.param_occ, 12 + 20);
  EXPECT_EQ(found.grad_occ, 12);
  EXPECT_EQ(found.buffer_occ, 28);
}

TEST(Occupation, GradientsCountUntilTheyAreFinal) {
  fakes::ProgramBuilder builder;
  const auto first = builder.parameter("first", {128});
  const auto second = builder.parameter("second", {128});
  builder.start_backward();
  // The first gradient (10 blocks) is final where it is computed. The second (4 blocks, then added
  // to) is final only after a call with 20 other blocks.
  builder.set_gradient(first, builder.call("aten::a", {first}, {1280}));
  const auto part = builder.call("aten::b", {second}, {512});
  builder.call("aten::c", {second}, {2560});
  builder.set_gradient(second, builder.write("aten::add_", part, {second}));
  const program::Program program = builder.build();
  EXPECT_EQ(occupation(program).activation_occ, (20 + 4) * 512);
  // Without Elixir all gradients stay: ten blocks more.
  EXPECT_EQ(make_timeline(program, 0).peak_bytes, (2 + 20 + 4 + 10) * 512);
}

// Never more than what eager keeps in addition to the model, never less than its activations.
TEST(Occupation, IsBoundedByTheTimeline) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const program::Program program = fakes::random_program(seed);
    std::int64_t before = 0;
    for (const auto& storage : program.storages) {
      if (storage.allocated_at < 0 && !storage.on_host) before += rounded_allocation(storage.bytes);
    }
    const Timeline timeline = make_timeline(program, 0);
    const std::int64_t activations = occupation(program).activation_occ;
    EXPECT_LE(activations, timeline.peak_bytes - before) << seed;
    EXPECT_GE(activations, timeline.activations_peak_bytes) << seed;
  }
}

}  // namespace
}  // namespace elixir::memory
