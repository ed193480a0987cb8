// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// snapshot_test.py compares the content of a snapshot, with Python and with PyTorch's own viewer.
#include "report/trace/memory_snapshot.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "fakes/program_builder.h"
#include "memory/step/training_step.h"

namespace elixir::report {
namespace {

using Action = memory::PlacedEvent::Action;

std::string snapshot_of(const program::Program& program,
                        const memory::TrainingStep& step,
                        const std::vector<memory::PlacedEvent>& placed) {
  std::string bytes;
  write_memory_snapshot(
      program, step.events, placed, [&bytes](std::string_view piece) { bytes += piece; });
  return bytes;
}

TEST(MemorySnapshot, IsTheSameForTheSameProgram) {
  const program::Program program = fakes::transformer({});
  const memory::TrainingStep step =
      memory::predict_step(program, program::Optimizer::kAdamW, {}, {});
  EXPECT_EQ(snapshot_of(program, step, step.placed), snapshot_of(program, step, step.placed));
}

TEST(MemorySnapshot, RefusesPlacementsThatContradictThemselves) {
  const program::Program program = fakes::mlp({8, 8}, 4);
  const memory::TrainingStep trace =
      memory::predict_step(program, program::Optimizer::kNone, {}, {});
  const auto good = trace.placed;
  EXPECT_FALSE(snapshot_of(program, trace, good).empty());

  auto outside = good;
  outside.erase(outside.begin());  // the segment
  EXPECT_THROW(snapshot_of(program, trace, outside), Error);
  auto beyond = good;
  beyond.front().bytes = 512;
  EXPECT_THROW(snapshot_of(program, trace, beyond), Error);
  auto twice = good;
  for (const auto& event : good) {
    if (event.action == Action::kFree) twice.push_back(event);
  }
  EXPECT_THROW(snapshot_of(program, trace, twice), Error);
}

}  // namespace
}  // namespace elixir::report
