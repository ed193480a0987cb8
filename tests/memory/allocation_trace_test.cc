// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/allocation_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "fakes/program_builder.h"
#include "memory/optimizer_state.h"
#include "memory/placement.h"
#include "memory/timeline.h"

namespace elixir::memory {
namespace {

using Action = PlacedEvent::Action;

TEST(OptimizerState, IsTwoMomentsAndForNarrowParametersAMaster) {
  const auto wide = optimizer_state(fakes::mlp({4, 8}, 2), "adamw");
  ASSERT_EQ(wide.size(), 4U);  // weight and bias
  EXPECT_EQ(wide[0].part, "exp_avg");
  EXPECT_EQ(wide[0].bytes, 4 * 8 * 4);
  EXPECT_EQ(wide[1].part, "exp_avg_sq");
  EXPECT_EQ(wide[2].parameter, 1);
  const auto narrow = optimizer_state(fakes::mlp({4, 8}, 2, program::DType::kBFloat16), "adam");
  ASSERT_EQ(narrow.size(), 6U);
  EXPECT_EQ(narrow[0].part, "master");
  EXPECT_EQ(narrow[0].bytes, 4 * 8 * 4);
  const auto double_precision =
      optimizer_state(fakes::mlp({4, 8}, 2, program::DType::kFloat64), "adamw");
  EXPECT_EQ(double_precision[0].bytes, 4 * 8 * 8);
  EXPECT_TRUE(optimizer_state(fakes::mlp({4, 8}, 2), "sgd").empty());
}

TEST(AllocationTrace, BeginsWithWhatIsThereAndFollowsTheOperators) {
  fakes::ProgramBuilder builder;
  const auto weight = builder.parameter("weight", {3});
  const auto y = builder.call("aten::a", {weight}, {5});
  const auto z = builder.call("aten::b", {y}, {7});
  builder.call("aten::nothing", {z}, {0});
  builder.start_backward();
  builder.set_gradient(weight, builder.call("aten::c", {z}, {3}));
  const AllocationTrace trace = trace_allocations(builder.build(), "adamw");

  std::vector<std::string> story;
  for (const AllocationEvent& event : trace.events) {
    const Allocation& allocation = trace.allocations[static_cast<std::size_t>(event.allocation)];
    story.push_back((event.kind == AllocationEvent::Kind::kAllocate ? "+" : "-") +
                    std::to_string(allocation.requested_bytes) + "@" + std::to_string(event.at) +
                    (allocation.part.empty() ? "" : " " + std::string(allocation.part)));
  }
  const std::vector<std::string> expected{
      "+12@-1", "+12@-1 exp_avg", "+12@-1 exp_avg_sq", "+20@0", "+28@1", "-20@1", "+12@3", "-28@3"};
  EXPECT_EQ(story, expected);
}

TEST(AllocationTrace, AddsUpToTheTimeline) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const program::Program program = fakes::random_program(seed);
    const AllocationTrace trace = trace_allocations(program, "adamw");
    const Timeline timeline = make_timeline(program, optimizer_state_bytes(program, "adamw"));
    std::int64_t live = 0;
    std::int64_t peak = 0;
    for (const AllocationEvent& event : trace.events) {
      const std::int64_t bytes =
          rounded(trace.allocations[static_cast<std::size_t>(event.allocation)].requested_bytes);
      live += event.kind == AllocationEvent::Kind::kAllocate ? bytes : -bytes;
      peak = std::max(peak, live);
    }
    EXPECT_EQ(peak, timeline.peak_bytes) << seed;
  }
}

// Blocks that are alive never overlap, lie inside the segment, and the segment is no larger than
// needed: it is full at least up to its last byte once.
TEST(Placement, IsConsistent) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const program::Program program = fakes::random_program(seed);
    const AllocationTrace trace = trace_allocations(program, "adam");
    const auto placed = place_in_one_segment(trace);
    ASSERT_EQ(placed.size(), trace.events.size() + 1);
    ASSERT_EQ(placed[0].action, Action::kSegmentAllocate);
    const std::int64_t end = placed[0].address + placed[0].bytes;
    std::map<std::int64_t, PlacedEvent> live;
    std::int64_t highest = 0;
    for (std::size_t i = 1; i < placed.size(); ++i) {
      const PlacedEvent& event = placed[i];
      ASSERT_EQ(event.allocation, trace.events[i - 1].allocation);
      ASSERT_EQ(event.at, trace.events[i - 1].at);
      if (event.action == Action::kFree) {
        const auto found = live.find(event.address);
        ASSERT_NE(found, live.end());
        ASSERT_EQ(found->second.allocation, event.allocation);
        ASSERT_EQ(found->second.bytes, event.bytes);
        live.erase(found);
        continue;
      }
      ASSERT_EQ(event.action, Action::kAllocate);
      const auto next = live.lower_bound(event.address);
      if (next != live.end()) {
        ASSERT_LE(event.address + event.bytes, next->first);
      }
      if (next != live.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second.bytes, event.address);
      }
      ASSERT_GE(event.address, placed[0].address);
      ASSERT_LE(event.address + event.bytes, end);
      highest = std::max(highest, event.address + event.bytes);
      live.emplace(event.address, event);
    }
    EXPECT_EQ(highest, end);
  }
}

TEST(Placement, ReusesTheSmallestHoleThatFits) {
  AllocationTrace trace;
  const auto allocate = [&](std::int64_t bytes) {
    const auto position = static_cast<std::int32_t>(trace.allocations.size());
    trace.allocations.push_back({.requested_bytes = bytes});
    trace.events.push_back({AllocationEvent::Kind::kAllocate, position, 0});
    return position;
  };
  const auto release = [&](std::int32_t position) {
    trace.events.push_back({AllocationEvent::Kind::kFree, position, 0});
  };
  const auto large = allocate(4096);
  allocate(512);
  const auto small = allocate(1000);
  allocate(512);
  release(large);
  release(small);
  const auto into_small = allocate(600);
  const auto into_large = allocate(1025);
  const auto placed = place_in_one_segment(trace);
  const auto address_of = [&](std::int32_t allocation) {
    for (const PlacedEvent& event : placed) {
      if (event.allocation == allocation && event.action == Action::kAllocate) return event.address;
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(address_of(into_small), address_of(small));
  EXPECT_EQ(address_of(into_large), address_of(large));
  EXPECT_EQ(placed[0].bytes, 4096 + 512 + 1024 + 512);
}

TEST(Placement, OfNothingIsNothing) {
  EXPECT_TRUE(place_in_one_segment(AllocationTrace{}).empty());
}

}  // namespace
}  // namespace elixir::memory
