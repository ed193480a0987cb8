// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The allocator's rules, one by one, with sequences computed by hand.
#include "memory/allocator/caching_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "memory/allocator/fixture.h"

namespace elixir::memory {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

DeviceLimits limited(std::int64_t allowed_bytes) {
  return {.total_bytes = 8_GiB, .allowed_bytes = allowed_bytes};
}
DeviceLimits small_device(std::int64_t capacity_bytes) {
  return {.total_bytes = 8_GiB, .capacity_bytes = capacity_bytes};
}

// --- Sizes and pools ------------------------------------------------------------------------

TEST(CachingAllocator, ZeroBytesCountNothing) {
  Harness h;
  const AllocatedBlock none = h.get(0);
  EXPECT_EQ(none.id, 0);
  h.allocator.free(none.id);
  h.allocator.record_stream(none.id, 1);
  EXPECT_THAT(h.calls(), IsEmpty());
  EXPECT_EQ(h.statistics().allocated.peak, 0);
  EXPECT_EQ(h.statistics().reserved.peak, 0);
}

TEST(CachingAllocator, SmallRequestsShareSegmentsOf2MiB) {
  Harness h;
  EXPECT_EQ(h.get(4).block_bytes, 512);
  EXPECT_EQ(h.get(1000).block_bytes, 1024);
  EXPECT_EQ(h.get(1_MiB).block_bytes, 1_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+2M"));
  EXPECT_EQ(h.get(1_MiB).block_bytes, 1_MiB);  // 1 MiB - 1,536 bytes are left
  EXPECT_THAT(h.calls(), ElementsAre("+2M"));
  EXPECT_THAT(h.segments(),
              ElementsAre("2M: 512 used 1K used 1M used 1047040 free", "2M: 1M used 1M free"));
}

TEST(CachingAllocator, RequestsBelow10MiBShareSegmentsOf20MiB) {
  Harness h;
  h.get(9_MiB);
  h.get(9_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+20M"));
  EXPECT_THAT(h.segments(), ElementsAre("20M: 9M used 9M used 2M free"));
  h.get(3_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+20M"));
}

TEST(CachingAllocator, LargerOnesGetTheirOwnRoundedTo2MiB) {
  Harness h;
  h.get(10_MiB);
  h.get(33_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+10M", "+34M"));
}

TEST(CachingAllocator, CountsBlocksRequestsAndSegments) {
  Harness h;
  const AllocationId small = h.id(100);
  h.get(33_MiB - 100);
  const AllocatorStatistics& now = h.statistics();
  // 34 MiB less 33 MiB leave 1 MiB, which is not split off, so the block is the whole segment.
  EXPECT_EQ(now.allocated.current, 512 + 34_MiB);
  EXPECT_EQ(now.requested.current, 33_MiB);
  EXPECT_EQ(now.reserved.current, 36_MiB);
  h.allocator.free(small);
  EXPECT_EQ(now.allocated.current, 34_MiB);
  EXPECT_EQ(now.allocated.peak, 512 + 34_MiB);
  EXPECT_EQ(now.requested.current, 33_MiB - 100);
  EXPECT_EQ(now.reserved.current, 36_MiB);
  h.allocator.reset_peaks();
  EXPECT_EQ(now.allocated.peak, 34_MiB);
  EXPECT_EQ(now.reserved.peak, 36_MiB);
}

// --- Splitting --------------------------------------------------------------------------------

TEST(CachingAllocator, SplitsSmallBlocksDownTo512Bytes) {
  Harness h;
  h.get(1_MiB);
  h.get(1_MiB - 512);
  EXPECT_THAT(h.segments(), ElementsAre("2M: 1M used 1048064 used 512 free"));
}

TEST(CachingAllocator, SplitsLargeBlocksOnlyForMoreThan1MiB) {
  Harness h;
  EXPECT_EQ(h.get(21_MiB).block_bytes, 22_MiB);
  EXPECT_EQ(h.get(21_MiB - 512).block_bytes, 21_MiB - 512);  // 1 MiB and 512 bytes are left
  EXPECT_THAT(h.segments(), ElementsAre("22M: 22M used", "22M: 22019584 used 1049088 free"));
}

TEST(CachingAllocator, ABlockTakesTheLowEnd) {
  Harness h;
  const AllocatedBlock first = h.get(512);
  const AllocatedBlock second = h.get(512);
  EXPECT_EQ(second.address, first.address + 512);
}

// --- Finding ----------------------------------------------------------------------------------

TEST(CachingAllocator, TakesTheSmallestBlockThatFits) {
  Harness h;
  const AllocationId large = h.id(40_MiB);
  const AllocationId fitting = h.id(14_MiB);
  const AllocationId tight = h.id(12_MiB);
  h.get(2_MiB);
  h.allocator.free(large);
  h.allocator.free(fitting);
  h.allocator.free(tight);
  h.calls();
  h.get(13_MiB);
  EXPECT_THAT(h.calls(), IsEmpty());
  EXPECT_THAT(
      h.segments(),
      ElementsAre("40M: 40M free", "14M: 14M used", "12M: 12M free", "20M: 2M used 18M free"));
}

TEST(CachingAllocator, TakesTheLowestAddressOfEqualBlocks) {
  Harness h;
  const AllocatedBlock first = h.get(12_MiB);
  const AllocatedBlock second = h.get(12_MiB);
  const AllocatedBlock third = h.get(12_MiB);
  h.allocator.free(third.id);
  h.allocator.free(first.id);
  h.allocator.free(second.id);
  EXPECT_EQ(h.get(12_MiB).address, first.address);
  EXPECT_EQ(h.get(12_MiB).address, second.address);
  EXPECT_EQ(h.get(12_MiB).address, third.address);
}

TEST(CachingAllocator, PoolsDoNotLendToEachOther) {
  Harness h;
  h.allocator.free(h.id(20_MiB));
  h.get(1_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+20M", "+2M"));
}

TEST(CachingAllocator, StreamsDoNotLendToEachOther) {
  Harness h;
  h.allocator.free(h.id(12_MiB, 1));
  h.get(12_MiB, 2);
  h.get(12_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+12M @1", "+12M @2", "+12M"));
  h.get(12_MiB, 1);
  EXPECT_THAT(h.calls(), IsEmpty());
}

// --- Merging ----------------------------------------------------------------------------------

TEST(CachingAllocator, MergesWithFreeNeighboursOnBothSides) {
  Harness h;
  const AllocationId a = h.id(4_MiB);
  const AllocationId b = h.id(4_MiB);
  const AllocationId c = h.id(4_MiB);
  EXPECT_THAT(h.segments(), ElementsAre("20M: 4M used 4M used 4M used 8M free"));
  h.allocator.free(a);
  EXPECT_THAT(h.segments(), ElementsAre("20M: 4M free 4M used 4M used 8M free"));
  h.allocator.free(c);
  EXPECT_THAT(h.segments(), ElementsAre("20M: 4M free 4M used 12M free"));
  EXPECT_EQ(h.statistics().inactive_split.current, 16_MiB);
  h.allocator.free(b);
  EXPECT_THAT(h.segments(), ElementsAre("20M: 20M free"));
  EXPECT_EQ(h.statistics().inactive_split.current, 0);
}

TEST(CachingAllocator, DoesNotMergeSegments) {
  Harness h;
  const AllocationId a = h.id(12_MiB);
  const AllocationId b = h.id(12_MiB);
  h.allocator.free(a);
  h.allocator.free(b);
  EXPECT_THAT(h.segments(), ElementsAre("12M: 12M free", "12M: 12M free"));
  h.get(24_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+12M", "+12M", "+24M"));
}

// --- Other streams' uses ----------------------------------------------------------------------

TEST(CachingAllocator, ABlockThatAnotherStreamUsesWaitsForItsEvents) {
  Harness h;
  const AllocationId a = h.id(12_MiB);
  h.allocator.record_stream(a, 1);
  h.allocator.free(a);
  EXPECT_EQ(h.statistics().allocated.current, 0);
  EXPECT_EQ(h.statistics().active.current, 12_MiB);
  EXPECT_THAT(h.segments(), ElementsAre("12M: 12M waits"));
  h.get(12_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+12M", "+12M"));
  h.allocator.complete_events(1);
  EXPECT_EQ(h.statistics().active.current, 24_MiB);  // noticed at the next request
  h.get(12_MiB);
  EXPECT_THAT(h.calls(), IsEmpty());
}

TEST(CachingAllocator, ABlockWaitsForEveryStream) {
  Harness h;
  const AllocationId a = h.id(12_MiB);
  h.allocator.record_stream(a, 1);
  h.allocator.record_stream(a, 2);
  h.allocator.record_stream(a, 1);
  h.allocator.record_stream(a, 0);  // its own stream: changes nothing
  h.allocator.free(a);
  h.allocator.complete_events(1);
  h.get(512);
  EXPECT_THAT(h.segments(), ElementsAre("12M: 12M waits", "2M: 512 used 2096640 free"));
  h.allocator.complete_events(2);
  h.get(512);
  EXPECT_THAT(h.segments(), ElementsAre("12M: 12M free", "2M: 512 used 512 used 2047K free"));
}

TEST(CachingAllocator, AWaitingBlockDoesNotMerge) {
  Harness h;
  const AllocationId a = h.id(4_MiB);
  const AllocationId b = h.id(4_MiB);
  h.allocator.record_stream(a, 1);
  h.allocator.free(a);
  h.allocator.free(b);
  EXPECT_THAT(h.segments(), ElementsAre("20M: 4M waits 16M free"));
  h.allocator.complete_free(a);
  EXPECT_THAT(h.segments(), ElementsAre("20M: 20M free"));
  h.allocator.complete_events(1);  // nothing is left to complete
  h.get(512);
}

// --- Oversize blocks --------------------------------------------------------------------------

TEST(CachingAllocator, BlocksOfMaxSplitSizeAreNotSplitAndNotLentToSmallerRequests) {
  Harness h("max_split_size_mb:40");
  h.allocator.free(h.id(64_MiB));
  h.get(30_MiB);  // cannot use the 64 MiB block
  EXPECT_THAT(h.calls(), ElementsAre("+64M", "+30M"));
  h.get(50_MiB);  // uses it whole
  EXPECT_THAT(h.calls(), IsEmpty());
  EXPECT_EQ(h.statistics().allocated.current, 94_MiB);
  EXPECT_THAT(h.segments(), ElementsAre("64M: 64M used", "30M: 30M used"));
}

TEST(CachingAllocator, AnOversizeBlockIsNotLentToAMuchSmallerOversizeRequest) {
  Harness h("max_split_size_mb:40");
  h.allocator.free(h.id(64_MiB));
  h.get(44_MiB);  // 20 MiB less: exactly the allowed amount is too much
  EXPECT_THAT(h.calls(), ElementsAre("+64M", "+44M"));
  h.get(46_MiB);
  EXPECT_THAT(h.calls(), IsEmpty());
}

TEST(CachingAllocator, NonSplitRoundingWidensThat) {
  Harness h("max_split_size_mb:40,max_non_split_rounding_mb:24");
  h.allocator.free(h.id(64_MiB));
  h.get(42_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+64M"));
}

TEST(CachingAllocator, NoOtherCandidateIsTriedAfterAnOversizeOne) {
  Harness h("max_split_size_mb:20");
  h.allocator.free(h.id(24_MiB));
  // 18 MiB fit into no split segment. The only candidate is oversize.
  h.get(18_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+24M", "+18M"));
}

TEST(CachingAllocator, FreesOneOversizeBlockBeforeAllTheCache) {
  Harness h("max_split_size_mb:40", limited(200_MiB));
  const AllocationId a = h.id(60_MiB);
  const AllocationId b = h.id(80_MiB);
  const AllocationId c = h.id(30_MiB);
  h.allocator.free(a);
  h.allocator.free(b);
  h.allocator.free(c);
  h.calls();
  // 100 MiB: no cached block is large enough. The largest are freed until 100 MiB are free.
  h.get(100_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("-80M", "-60M", "+100M"));
  EXPECT_EQ(h.statistics().retries, 0);
}

TEST(CachingAllocator, FreesTheSmallestSufficientOversizeBlock) {
  Harness h("max_split_size_mb:40", limited(200_MiB));
  const AllocationId a = h.id(60_MiB);
  const AllocationId b = h.id(80_MiB);
  h.get(50_MiB);
  h.allocator.free(a);
  h.allocator.free(b);
  h.calls();
  h.get(38_MiB);  // may not use an oversize block; 10 MiB are left
  EXPECT_THAT(h.calls(), ElementsAre("-60M", "+38M"));
  EXPECT_EQ(h.statistics().retries, 0);
}

// --- Out of memory ----------------------------------------------------------------------------

TEST(CachingAllocator, ARetryFreesWhollyFreeSegmentsOfBothPools) {
  Harness h("", limited(64_MiB));
  const AllocationId small = h.id(512);
  const AllocationId split = h.id(4_MiB);
  const AllocationId other = h.id(30_MiB);
  h.get(4_MiB);
  h.allocator.free(small);
  h.allocator.free(split);
  h.allocator.free(other);
  h.calls();
  h.get(32_MiB);  // 52 MiB are reserved; the split segment stays
  EXPECT_THAT(h.calls(), ElementsAre("-30M", "-2M", "+32M"));
  EXPECT_THAT(h.segments(), ElementsAre("20M: 4M free 4M used 12M free", "32M: 32M used"));
  EXPECT_EQ(h.statistics().retries, 1);
  EXPECT_EQ(h.statistics().out_of_memory, 0);
  EXPECT_EQ(h.statistics().device_frees, 2);
  EXPECT_EQ(h.statistics().reserved.peak, 52_MiB);
}

TEST(CachingAllocator, ARetryWaitsForEvents) {
  Harness h("", limited(16_MiB));
  const AllocationId a = h.id(12_MiB);
  h.allocator.record_stream(a, 1);
  h.allocator.free(a);
  h.get(14_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+12M", "-12M", "+14M"));
}

TEST(CachingAllocator, OutOfMemoryIsAnAnswer) {
  Harness h("", limited(64_MiB));
  h.get(40_MiB);
  const OutOfMemory answer = h.fail(30_MiB + 1);
  EXPECT_EQ(answer.requested_bytes, 30_MiB + 1);
  EXPECT_EQ(answer.segment_bytes, 32_MiB);
  EXPECT_EQ(answer.allocated_bytes, 40_MiB);
  EXPECT_EQ(answer.reserved_bytes, 40_MiB);
  EXPECT_EQ(answer.allowed_bytes, 64_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+40M", "oom 31457792"));
  EXPECT_EQ(h.statistics().retries, 1);
  EXPECT_EQ(h.statistics().out_of_memory, 1);
  h.get(24_MiB);  // reaching the limit exactly is allowed
}

TEST(CachingAllocator, TheDeviceMayBeFullBeforeTheLimit) {
  Harness h("", small_device(64_MiB));
  h.get(40_MiB);
  EXPECT_EQ(h.fail(26_MiB).allowed_bytes, std::nullopt);
  h.get(24_MiB);
}

TEST(CachingAllocator, TheConfigurationMayLimit) {
  Harness h("per_process_memory_fraction:0.5", {.total_bytes = 100_MiB});
  EXPECT_EQ(h.fail(51_MiB).allowed_bytes, 50_MiB);
  h.get(50_MiB);
}

TEST(CachingAllocator, EmptyCacheKeepsWhatIsUsed) {
  Harness h;
  const AllocationId a = h.id(30_MiB);
  const AllocationId b = h.id(4_MiB);
  h.get(4_MiB);
  h.allocator.free(a);
  h.allocator.free(b);
  h.calls();
  h.allocator.empty_cache();
  EXPECT_THAT(h.calls(), ElementsAre("-30M"));
  EXPECT_THAT(h.segments(), ElementsAre("20M: 4M free 4M used 12M free"));
  EXPECT_EQ(h.statistics().retries, 0);
}

// --- Garbage collection -----------------------------------------------------------------------

TEST(CachingAllocator, CollectsTheOldestGarbageAboveTheThreshold) {
  // The threshold is 50 MiB. Searches of the large pool give the ages.
  Harness h("garbage_collection_threshold:0.5", limited(100_MiB));
  const AllocationId a = h.id(20_MiB);
  const AllocationId b = h.id(22_MiB);
  const AllocationId c = h.id(24_MiB);
  h.allocator.free(a);                  // after 3 searches
  const AllocationId d = h.id(12_MiB);  // splits a: parts are not garbage
  h.allocator.free(d);                  // whole again, after 4
  h.allocator.free(b);                  // after 4
  const AllocationId e = h.id(26_MiB);  // search 5, above the threshold: collects first
  // Ages 1 (a) and 1 (b): both equal the mean.
  EXPECT_THAT(h.calls(), ElementsAre("+20M", "+22M", "+24M", "-20M", "-22M", "+26M"));
  h.allocator.free(c);             // after 5
  h.allocator.free(h.id(14_MiB));  // search 6: takes c's block, and gives it back
  h.allocator.free(e);
  h.get(30_MiB);  // search 7: ages 1 and 1; the excess is nothing: 50 MiB are reserved
  EXPECT_THAT(h.calls(), ElementsAre("+30M"));
}

TEST(CachingAllocator, YoungBlocksSurviveGarbageCollection) {
  Harness h("garbage_collection_threshold:0.2", limited(200_MiB));
  const AllocationId old = h.id(20_MiB);
  const AllocationId young = h.id(30_MiB);
  h.allocator.free(old);  // after 2 searches
  h.get(24_MiB);          // search 3: reserved 50 MiB > 40; only `old` is garbage
  EXPECT_THAT(h.calls(), ElementsAre("+20M", "+30M", "-20M", "+24M"));
  const AllocationId other = h.id(32_MiB);
  h.allocator.free(other);  // after 4
  h.get(34_MiB);            // search 5: excess 46 MiB; `other` goes though it is smaller
  EXPECT_THAT(h.calls(), ElementsAre("+32M", "-32M", "+34M"));
  h.allocator.free(young);                 // after 5
  const AllocationId next = h.id(29_MiB);  // search 6: takes young's block
  h.allocator.free(next);                  // after 6
  EXPECT_THAT(h.calls(), IsEmpty());
}

TEST(CachingAllocator, GarbageIsOnlyCollectedUnderALimit) {
  Harness h("garbage_collection_threshold:0.01");
  h.allocator.free(h.id(20_MiB));
  h.get(900_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+20M", "+900M"));
}

TEST(CachingAllocator, SmallAndSplitBlocksAreNoGarbage) {
  Harness h("garbage_collection_threshold:0.1", limited(100_MiB));
  h.allocator.free(h.id(512));
  const AllocationId a = h.id(4_MiB);
  h.get(4_MiB);
  h.allocator.free(a);
  h.calls();
  h.get(30_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+30M"));
}

// --- Expandable segments ----------------------------------------------------------------------

TEST(ExpandableSegments, MapPagesOf2And20MiB) {
  Harness h("expandable_segments:True");
  h.get(512);
  h.get(3_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("map 2M", "map 20M"));
  EXPECT_THAT(h.segments(), ElementsAre("2M: 512 used 2096640 free", "20M: 3M used 17M free"));
  EXPECT_EQ(h.statistics().reserved.current, 22_MiB);
}

TEST(ExpandableSegments, GrowWhereTheLastPageEnds) {
  Harness h("expandable_segments:True");
  const AllocatedBlock a = h.get(15_MiB);
  const AllocatedBlock b = h.get(15_MiB);
  EXPECT_EQ(b.address, a.address + static_cast<Address>(15_MiB));
  EXPECT_THAT(h.calls(), ElementsAre("map 20M", "map 20M"));
  h.get(50_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("map 40M"));
  EXPECT_THAT(h.segments(), ElementsAre("80M: 15M used 15M used 50M used"));
}

TEST(ExpandableSegments, SplitLargeBlocksDownTo512Bytes) {
  Harness h("expandable_segments:True");
  EXPECT_EQ(h.get(20_MiB - 512).block_bytes, 20_MiB - 512);
  EXPECT_THAT(h.segments(), ElementsAre("20M: 20971008 used 512 free"));
  EXPECT_EQ(h.statistics().inactive_split.current, 0);
}

TEST(ExpandableSegments, UseRoomThatCannotGrowFirst) {
  Harness h("expandable_segments:True");
  const AllocationId low = h.id(30_MiB);
  h.get(25_MiB);  // ends at 55 of 60 MiB
  h.allocator.free(low);
  h.calls();
  // 5 MiB are free at the end, before unmapped space; 30 MiB at the beginning.
  const AllocatedBlock taken = h.get(4_MiB);
  EXPECT_THAT(h.segments(), ElementsAre("60M: 4M used 26M free 25M used 5M free"));
  EXPECT_THAT(h.calls(), IsEmpty());
  h.allocator.free(taken.id);
}

TEST(ExpandableSegments, UnmapWholePagesAlone) {
  Harness h("expandable_segments:True");
  const AllocationId a = h.id(30_MiB);
  h.get(25_MiB);
  h.allocator.free(a);
  h.calls();
  h.allocator.empty_cache();
  EXPECT_THAT(h.calls(), ElementsAre("unmap 20M"));
  EXPECT_THAT(h.segments(), ElementsAre("40M: 10M free 25M used 5M free"));
  EXPECT_EQ(h.statistics().reserved.current, 40_MiB);
}

TEST(ExpandableSegments, MapTheLowestAddressAgain) {
  Harness h("expandable_segments:True");
  const AllocatedBlock a = h.get(30_MiB);
  h.get(25_MiB);
  h.allocator.free(a.id);
  h.allocator.empty_cache();
  h.calls();
  const AllocatedBlock again = h.get(30_MiB);  // the hole of 20 MiB and the 10 MiB after it
  EXPECT_EQ(again.address, a.address);
  EXPECT_THAT(h.calls(), ElementsAre("map 20M"));
  EXPECT_THAT(h.segments(), ElementsAre("60M: 30M used 25M used 5M free"));
}

TEST(ExpandableSegments, ARangeWithoutMemoryIsGivenBack) {
  Harness h("expandable_segments:True");
  h.allocator.free(h.id(30_MiB));
  h.allocator.empty_cache();
  EXPECT_THAT(h.calls(), ElementsAre("map 40M", "unmap 40M"));
  EXPECT_THAT(h.segments(), IsEmpty());
  h.get(30_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("map 40M"));
}

TEST(ExpandableSegments, AreOnePerStreamAndPool) {
  Harness h("expandable_segments:True");
  h.get(3_MiB, 1);
  h.get(3_MiB, 2);
  h.get(3_MiB, 1);
  EXPECT_THAT(h.calls(), ElementsAre("map 20M @1", "map 20M @2"));
  EXPECT_THAT(h.segments(), ElementsAre("20M: 3M used 3M used 14M free", "20M: 3M used 17M free"));
}

TEST(ExpandableSegments, ARetryUnmapsAndMapsAgain) {
  Harness h("expandable_segments:True", small_device(60_MiB));
  const AllocationId a = h.id(18_MiB, 1);
  h.get(20_MiB, 2);
  h.allocator.free(a);
  h.calls();
  h.get(40_MiB, 2);
  EXPECT_THAT(h.calls(), ElementsAre("unmap 20M @1", "map 40M @2"));
  EXPECT_EQ(h.statistics().retries, 1);
  EXPECT_THAT(h.segments(), ElementsAre("60M: 20M used 40M used"));
}

TEST(ExpandableSegments, TheLimitCountsASegmentNotThePages) {
  // 3 MiB would be a segment of 20 MiB; 41 MiB one of 42, though three pages are mapped.
  Harness h("expandable_segments:True", limited(42_MiB));
  h.get(41_MiB);
  EXPECT_EQ(h.statistics().reserved.current, 60_MiB);
  h.fail(20_MiB);
}

TEST(ExpandableSegments, PagesFollowTheLargeSegmentSize) {
  Harness h("expandable_segments:True,large_segment_size_mb:32");
  h.get(33_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("map 64M"));
}

TEST(ExpandableSegments, AreLeftAloneWhenSwitchedOff) {
  Harness h("expandable_segments:True");
  h.allocator.free(h.id(30_MiB));
  h.calls();
  h.allocator.configure(AllocatorConfig{});
  h.get(30_MiB);
  EXPECT_THAT(h.calls(), ElementsAre("+30M"));
  h.allocator.configure(AllocatorConfig::parse("expandable_segments:True"));
  h.get(30_MiB);
  EXPECT_THAT(h.calls(), IsEmpty());
}

// --- Misuse -----------------------------------------------------------------------------------

TEST(CachingAllocator, RefusesMisuse) {
  Harness h;
  const AllocationId a = h.id(512);
  h.allocator.free(a);
  EXPECT_THROW(h.allocator.free(a), Error);
  EXPECT_THROW(h.allocator.free(7), Error);
  EXPECT_THROW(h.allocator.record_stream(a, 1), Error);
  EXPECT_THROW(static_cast<void>(h.allocator.allocate(-1, 0)), Error);
  const AllocationId b = h.id(512);
  EXPECT_THROW(h.allocator.complete_free(b), Error);
  h.allocator.record_stream(b, 1);
  h.allocator.free(b);
  EXPECT_THROW(h.allocator.free(b), Error);
  EXPECT_THROW(h.allocator.record_stream(b, 2), Error);
}

TEST(DriverLikeDeviceMemory, TakesRangesFromTheTopAndFillsWhatTheyLeave) {
  DriverLikeDeviceMemory device(1_GiB);
  const Address first = *device.allocate(20_MiB);
  const Address second = *device.allocate(20_MiB);
  EXPECT_EQ(second, first - 32_MiB);
  EXPECT_EQ(*device.allocate(2_MiB), second + 20_MiB);  // the lowest place
  EXPECT_EQ(*device.allocate(12_MiB), first + 20_MiB);  // the only one that is large enough
  EXPECT_EQ(*device.allocate(40_MiB), second - 64_MiB);
  EXPECT_EQ(*device.allocate(24_MiB), second - 24_MiB);
  device.free(second, 20_MiB);
  EXPECT_EQ(*device.allocate(20_MiB), second);
}

TEST(DriverLikeDeviceMemory, HasNoMoreThanItsCapacity) {
  DriverLikeDeviceMemory device(40_MiB);
  const auto first = device.allocate(30_MiB);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(device.allocate(20_MiB).has_value());
  device.free(*first, 30_MiB);
  EXPECT_TRUE(device.allocate(40_MiB).has_value());
  EXPECT_FALSE(device.map(0, 2_MiB, 2_MiB));
}

}  // namespace
}  // namespace elixir::memory
