// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What a snapshot contains is compared in snapshot_test.py, by Python and by PyTorch's own viewer.
#include "report/memory_snapshot.h"

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "fakes/program_builder.h"

namespace elixir::report {
namespace {

using Action = memory::PlacedEvent::Action;

std::string snapshot_of(const program::Program& program,
                        const memory::AllocationTrace& trace,
                        const std::vector<memory::PlacedEvent>& placed) {
  std::string bytes;
  write_memory_snapshot(
      program, trace, placed, [&bytes](std::string_view piece) { bytes += piece; });
  return bytes;
}

TEST(MemorySnapshot, IsTheSameForTheSameProgram) {
  const program::Program program = fakes::transformer({});
  const auto trace = memory::trace_allocations(program, "adamw");
  const auto placed = memory::place_in_one_segment(trace);
  EXPECT_EQ(snapshot_of(program, trace, placed), snapshot_of(program, trace, placed));
}

TEST(MemorySnapshot, RefusesPlacementsThatContradictThemselves) {
  const program::Program program = fakes::mlp({8, 8}, 4);
  const auto trace = memory::trace_allocations(program, "none");
  const auto good = memory::place_in_one_segment(trace);
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
