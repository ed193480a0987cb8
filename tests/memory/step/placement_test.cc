// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "core/units.h"
#include "fakes/program_builder.h"
#include "operators/scratch/call_script.h"

namespace elixir::memory {
namespace {

using Action = PlacedEvent::Action;

TrainingEvents events_of(const program::Program& program) {
  return training_events(program, program::Optimizer::kAdam, operators::plain_scripts(program), 2);
}

/// Checks the segment of every block: blocks that are alive never overlap and are inside a segment,
/// and a release has the block of its request. Returns what is alive at the end.
std::map<std::int64_t, PlacedEvent> check(const std::vector<PlacedEvent>& placed) {
  std::map<std::int64_t, std::int64_t> segments;  // by address: bytes; mapped pages joined
  std::map<std::int64_t, PlacedEvent> live;
  for (const PlacedEvent& event : placed) {
    EXPECT_GT(event.address, 0);
    EXPECT_LT(event.address + event.bytes, std::int64_t{1} << 53);
    if (event.action == Action::kSegmentAllocate || event.action == Action::kSegmentMap) {
      const auto before = segments.lower_bound(event.address);
      if (event.action == Action::kSegmentMap && before != segments.begin() &&
          std::prev(before)->first + std::prev(before)->second == event.address) {
        std::prev(before)->second += event.bytes;
      } else {
        segments.emplace(event.address, event.bytes);
      }
      continue;
    }
    if (event.action == Action::kFree) {
      const auto found = live.find(event.address);
      EXPECT_TRUE(found != live.end());
      if (found == live.end()) continue;
      EXPECT_EQ(found->second.allocation, event.allocation);
      EXPECT_EQ(found->second.bytes, event.bytes);
      live.erase(found);
      continue;
    }
    const auto next = live.lower_bound(event.address);
    if (next != live.end()) {
      EXPECT_LE(event.address + event.bytes, next->first);
    }
    if (next != live.begin()) {
      EXPECT_LE(std::prev(next)->first + std::prev(next)->second.bytes, event.address);
    }
    const auto segment = segments.upper_bound(event.address);
    EXPECT_TRUE(segment != segments.begin());
    if (segment != segments.begin()) {
      EXPECT_LE(event.address + event.bytes,
                std::prev(segment)->first + std::prev(segment)->second);
    }
    live.emplace(event.address, event);
  }
  return live;
}

/// The requests and releases of the last step, as (allocation, frees).
std::vector<std::pair<std::int32_t, bool>> last_step(const TrainingEvents& events) {
  std::vector<std::pair<std::int32_t, bool>> step;
  for (std::size_t i = events.step_ends[events.step_ends.size() - 2]; i < events.events.size();
       ++i) {
    step.emplace_back(events.events[i].allocation, events.events[i].frees);
  }
  return step;
}

std::vector<std::pair<std::int32_t, bool>> during(const std::vector<PlacedEvent>& placed) {
  std::vector<std::pair<std::int32_t, bool>> step;
  for (const PlacedEvent& event : placed) {
    if (event.allocation >= 0 && event.at >= 0) {
      step.emplace_back(event.allocation, event.action == Action::kFree);
    }
  }
  return step;
}

TEST(Placement, InOneSegmentIsConsistentAndTight) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const TrainingEvents events = events_of(fakes::random_program(seed));
    const auto placed = place_in_one_segment(events);
    check(placed);
    EXPECT_EQ(during(placed), last_step(events)) << seed;
    ASSERT_EQ(placed.front().action, Action::kSegmentAllocate);
    std::int64_t highest = 0;
    for (std::size_t i = 1; i < placed.size(); ++i) {
      highest = std::max(highest, placed[i].address + placed[i].bytes);
    }
    EXPECT_EQ(highest, placed.front().address + placed.front().bytes) << seed;
  }
}

TEST(Placement, InTheCachingAllocatorIsConsistent) {
  for (const char* text : {"", "expandable_segments:True", "max_split_size_mb:32"}) {
    const AllocatorConfig config = AllocatorConfig::parse(text, "test");
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const TrainingEvents events = events_of(fakes::random_program(seed));
      const SimulatedStep step = place_in_caching_allocator(events, config);
      const auto live = check(step.placed);
      EXPECT_EQ(during(step.placed), last_step(events)) << text << seed;
      std::int64_t allocated = 0;
      for (const auto& entry : live) allocated += entry.second.bytes;
      EXPECT_EQ(allocated, step.training.steps.back().allocated_bytes) << text << seed;
      std::int64_t reserved = 0;
      for (const PlacedEvent& event : step.placed) {
        if (event.allocation < 0) reserved += event.bytes;
      }
      EXPECT_EQ(reserved, step.training.steps.back().reserved_bytes) << text << seed;
    }
  }
}

TEST(Placement, BeginsWithWhatIsThereBeforeTheStep) {
  const program::Program program = fakes::transformer({});
  const TrainingEvents events = events_of(program);
  const auto placed = place_in_caching_allocator(events, {}).placed;
  std::size_t before = 0;
  for (const PlacedEvent& event : placed) {
    if (event.at >= 0) break;
    before += event.allocation >= 0 ? 1 : 0;
  }
  // Parameters, the input, two moments of each parameter.
  EXPECT_EQ(before, 3 * program.parameters.size() + 1);
}

TEST(Placement, ReusesTheSmallestHoleThatFits) {
  TrainingEvents events;
  const auto allocate = [&](std::int64_t bytes) {
    const auto position = static_cast<std::int32_t>(events.allocations.size());
    events.allocations.push_back({.bytes = bytes});
    events.events.push_back({false, position, 0});
    return position;
  };
  const auto release = [&](std::int32_t position) { events.events.push_back({true, position, 0}); };
  const auto large = allocate(4096);
  allocate(512);
  const auto small = allocate(1000);
  allocate(512);
  release(large);
  release(small);
  const auto into_small = allocate(600);
  const auto into_large = allocate(1025);
  events.step_ends = {events.events.size()};
  const auto placed = place_in_one_segment(events);
  const auto address_of = [&](std::int32_t allocation) {
    for (const PlacedEvent& event : placed) {
      if (event.allocation == allocation && event.action == Action::kAllocate) return event.address;
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(address_of(into_small), address_of(small));
  EXPECT_EQ(address_of(into_large), address_of(large));
  EXPECT_EQ(placed.front().bytes, 4096 + 512 + 1024 + 512);
}

TEST(Placement, OfNothingIsNothing) {
  const TrainingEvents events = events_of(fakes::ProgramBuilder().build());
  EXPECT_TRUE(place_in_one_segment(events).empty());
  EXPECT_TRUE(place_in_caching_allocator(events, {}).placed.empty());
}

}  // namespace
}  // namespace elixir::memory
