// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Random requests with fixed seeds, checked by a ledger that uses only the allocator's answers: it
// knows the owner of every byte and the value of every sum.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "memory/allocator/fixture.h"
#include "memory/allocator/rounding.h"

namespace elixir::memory {
namespace {

struct Owner {
  AllocatedBlock allocation;
  std::int64_t requested_bytes = 0;
  StreamId stream = 0;
  bool freed = false;  ///< but another stream still uses it
};

struct Sums {
  std::int64_t allocated = 0, active = 0, requested = 0, reserved = 0;
};

/// Checks a snapshot against the owners and returns its sums.
Sums check_snapshot(const std::vector<SegmentInfo>& segments,
                    const std::map<AllocationId, Owner>& owners) {
  std::map<Address, const Owner*> by_address;
  for (const auto& entry : owners) by_address[entry.second.allocation.address] = &entry.second;
  Sums sums;
  std::size_t owned = 0;
  Address end = 0;
  for (const SegmentInfo& segment : segments) {
    EXPECT_GE(segment.address, end) << "segments overlap";
    Address at = segment.address;
    bool after_free = false;
    for (const BlockInfo& block : segment.blocks) {
      EXPECT_EQ(block.address, at) << "blocks do not tile their segment";
      EXPECT_GT(block.bytes, 0);
      EXPECT_EQ(block.bytes % 512, 0);
      at += static_cast<Address>(block.bytes);
      const bool free = block.state == BlockState::kFree;
      EXPECT_FALSE(free && after_free) << "free neighbours are not merged";
      after_free = free;
      const auto owner = by_address.find(block.address);
      if (free) {
        EXPECT_TRUE(owner == by_address.end()) << "an owned block counts as free";
        continue;
      }
      if (owner == by_address.end()) {
        ADD_FAILURE() << "a block in use belongs to nobody";
        continue;
      }
      ++owned;
      const Owner& who = *owner->second;
      EXPECT_EQ(block.bytes, who.allocation.block_bytes);
      EXPECT_EQ(block.requested_bytes, who.requested_bytes);
      EXPECT_EQ(block.state == BlockState::kPendingFree, who.freed);
      EXPECT_EQ(segment.stream, who.stream);
      sums.active += block.bytes;
      sums.requested += block.requested_bytes;
      if (!who.freed) sums.allocated += block.bytes;
    }
    EXPECT_EQ(at, segment.address + static_cast<Address>(segment.bytes));
    end = at;
    sums.reserved += segment.bytes;
  }
  EXPECT_EQ(owned, owners.size()) << "an owned block is in no segment";
  return sums;
}

struct Setting {
  const char* config;
  std::int64_t allowed_mib;  ///< 0: no limit
  int streams;
};

std::int64_t draw_bytes(std::mt19937_64& random) {
  const std::uint64_t bits = random() % (random() % 4 == 0 ? 27 : 19);
  return 1 + static_cast<std::int64_t>(random() % (std::uint64_t{2} << bits));
}

class AllocatorProperties : public testing::TestWithParam<Setting> {
 protected:
  /// One run: all device calls and answers as text.
  static std::string run(const Setting& setting, std::uint64_t seed, bool check) {
    const auto config = AllocatorConfig::parse(setting.config);
    DeviceLimits limits{.total_bytes = 4_GiB};
    if (setting.allowed_mib > 0) limits.allowed_bytes = setting.allowed_mib * 1_MiB;
    CachingAllocator allocator(config, limits);
    std::string log;
    std::int64_t reserved = 0;
    bool may_shrink = false;
    allocator.on_device_event([&](const DeviceEvent& event) {
      log += Harness::text(event) + '\n';
      const bool shrinks =
          event.kind == DeviceEvent::Kind::kFree || event.kind == DeviceEvent::Kind::kUnmap;
      EXPECT_TRUE(!shrinks || may_shrink) << "memory is given back for no reason";
      if (event.kind != DeviceEvent::Kind::kOutOfMemory) {
        reserved += shrinks ? -event.bytes : event.bytes;
      }
    });
    std::mt19937_64 random(seed);
    std::map<AllocationId, Owner> owners;
    std::int64_t peak_allocated = 0;
    std::int64_t peak_reserved = 0;
    for (int step = 0; step < 3000; ++step) {
      const std::uint64_t choice = random() % 100;
      const bool filling = step / 500 % 2 == 0;
      const auto stream = static_cast<StreamId>(random() % std::uint64_t(setting.streams));
      if (choice < (filling ? 65U : 35U) || owners.empty()) {
        const std::int64_t bytes = draw_bytes(random);
        // Only with a limit does the allocator collect garbage and retry.
        may_shrink = setting.allowed_mib > 0;
        const AllocationResult result = allocator.allocate(bytes, stream);
        may_shrink = false;
        // A request notices completed events. A request that fails waits for all events.
        forget_completed(allocator, owners);
        if (const auto* allocation = std::get_if<AllocatedBlock>(&result)) {
          log += fmt::format("{} at {:x}\n", bytes, allocation->address);
          EXPECT_GE(allocation->block_bytes, block_bytes(bytes, config));
          owners[allocation->id] = Owner{*allocation, bytes, stream, false};
        }
      } else if (choice < 95) {
        const auto owner = std::next(owners.begin(), long(random() % owners.size()));
        if (!owner->second.freed) {
          allocator.free(owner->first);
          owner->second.freed = true;
          forget_completed(allocator, owners);
        }
      } else if (choice < 97) {
        const auto owner = std::next(owners.begin(), long(random() % owners.size()));
        if (!owner->second.freed) allocator.record_stream(owner->first, stream);
      } else if (choice < 99) {
        allocator.complete_events(stream);
      } else {
        may_shrink = true;
        allocator.empty_cache();
        may_shrink = false;
        forget_completed(allocator, owners);
      }
      const AllocatorStatistics& now = allocator.statistics();
      EXPECT_EQ(now.reserved.current, reserved) << "device calls and reserved bytes differ";
      if (limits.allowed_bytes && !config.expandable_segments) {
        EXPECT_LE(now.reserved.current, *limits.allowed_bytes);
      }
      peak_allocated = std::max(peak_allocated, now.allocated.current);
      peak_reserved = std::max(peak_reserved, now.reserved.current);
      EXPECT_EQ(now.allocated.peak, peak_allocated);
      EXPECT_GE(now.reserved.peak, peak_reserved);
      if (check && step % 20 == 0) {
        const Sums sums = check_snapshot(allocator.snapshot(), owners);
        EXPECT_EQ(now.allocated.current, sums.allocated);
        EXPECT_EQ(now.active.current, sums.active);
        EXPECT_EQ(now.requested.current, sums.requested);
        EXPECT_EQ(now.reserved.current, sums.reserved);
      }
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << "seed " << seed << ", step " << step;
        break;
      }
    }
    return log;
  }

 private:
  /// Forgets owners whose block is free again, that is, which no snapshot shows as waiting.
  static void forget_completed(const CachingAllocator& allocator,
                               std::map<AllocationId, Owner>& owners) {
    std::map<Address, BlockState> states;
    if (std::none_of(owners.begin(), owners.end(), [](const auto& o) { return o.second.freed; })) {
      return;
    }
    for (const SegmentInfo& segment : allocator.snapshot()) {
      for (const BlockInfo& block : segment.blocks) states[block.address] = block.state;
    }
    for (auto at = owners.begin(); at != owners.end();) {
      const auto state = states.find(at->second.allocation.address);
      const bool waits = state != states.end() && state->second == BlockState::kPendingFree;
      at = at->second.freed && !waits ? owners.erase(at) : std::next(at);
    }
  }
};

TEST_P(AllocatorProperties, BytesAreConservedAndNobodySharesThem) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) run(GetParam(), seed, true);
}

TEST_P(AllocatorProperties, TheSameRequestsGiveTheSameAnswers) {
  const std::string log = run(GetParam(), 11, false);
  EXPECT_EQ(run(GetParam(), 11, false), log);
  EXPECT_NE(run(GetParam(), 12, false), log);
}

INSTANTIATE_TEST_SUITE_P(
    Settings,
    AllocatorProperties,
    testing::Values(Setting{"", 0, 1},
                    Setting{"", 300, 3},
                    Setting{"max_split_size_mb:24", 300, 2},
                    Setting{"garbage_collection_threshold:0.5", 400, 1},
                    Setting{"roundup_power2_divisions:[1:4,16:2,>:8]", 0, 2},
                    Setting{"expandable_segments:True", 0, 3},
                    Setting{"expandable_segments:True", 300, 2},
                    Setting{"large_segment_size_mb:64,max_split_size_mb:64", 700, 1}));

}  // namespace
}  // namespace elixir::memory
