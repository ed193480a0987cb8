// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/allocator/rounding.h"

#include <gtest/gtest.h>

namespace elixir::memory {
namespace {

TEST(BlockBytes, AreMultiplesOf512) {
  const AllocatorConfig config;
  EXPECT_EQ(block_bytes(1, config), 512);
  EXPECT_EQ(block_bytes(511, config), 512);
  EXPECT_EQ(block_bytes(512, config), 512);
  EXPECT_EQ(block_bytes(513, config), 1024);
  EXPECT_EQ(block_bytes(1_MiB, config), 1_MiB);
  EXPECT_EQ(block_bytes(1_MiB + 1, config), 1_MiB + 512);
  EXPECT_EQ(block_bytes(100_GiB - 1, config), 100_GiB);
}

TEST(BlockBytes, FollowTheDivisionsBetweenPowersOfTwo) {
  const auto config = AllocatorConfig::parse("roundup_power2_divisions:4");
  // For up to 512 bytes per division, the steps would be smaller than a block.
  EXPECT_EQ(block_bytes(1200, config), 1536);
  EXPECT_EQ(block_bytes(2048, config), 2048);
  EXPECT_EQ(block_bytes(2049, config), 2560);
  EXPECT_EQ(block_bytes(5000, config), 5120);
  EXPECT_EQ(block_bytes(1_MiB, config), 1_MiB);
  EXPECT_EQ(block_bytes(1_MiB + 1, config), 1_MiB + 256_KiB);
  EXPECT_EQ(block_bytes(1_MiB + 256_KiB, config), 1_MiB + 256_KiB);
  EXPECT_EQ(block_bytes(2_MiB - 1, config), 2_MiB);
  EXPECT_EQ(block_bytes(3_GiB + 1, config), 3_GiB + 512_MiB);
}

TEST(BlockBytes, OneDivisionIsNone) {
  const auto config = AllocatorConfig::parse("roundup_power2_divisions:1");
  EXPECT_EQ(block_bytes(1_MiB + 1, config), 1_MiB + 512);
}

TEST(BlockBytes, FollowTheIntervalOfTheSize) {
  const auto config = AllocatorConfig::parse("roundup_power2_divisions:[2:2,4:8,>:1]");
  EXPECT_EQ(block_bytes(1_MiB + 1, config), 1_MiB + 512_KiB);  // below the first boundary too
  EXPECT_EQ(block_bytes(2_MiB + 1, config), 3_MiB);
  EXPECT_EQ(block_bytes(4_MiB + 1, config), 4_MiB + 512_KiB);
  EXPECT_EQ(block_bytes(8_MiB + 1, config), 8_MiB + 512);
  EXPECT_EQ(block_bytes(200_GiB + 1, config), 200_GiB + 512);  // above 64 GiB: the last interval
}

TEST(SegmentBytes, AreThoseOfThePoolAndTheSize) {
  const AllocatorConfig config;
  EXPECT_EQ(segment_bytes(512, config), 2_MiB);
  EXPECT_EQ(segment_bytes(1_MiB, config), 2_MiB);
  EXPECT_EQ(segment_bytes(1_MiB + 512, config), 20_MiB);
  EXPECT_EQ(segment_bytes(10_MiB - 512, config), 20_MiB);
  EXPECT_EQ(segment_bytes(10_MiB, config), 10_MiB);
  EXPECT_EQ(segment_bytes(10_MiB + 512, config), 12_MiB);
  EXPECT_EQ(segment_bytes(30_MiB + 1024, config), 32_MiB);
  EXPECT_EQ(segment_bytes(3_MiB, AllocatorConfig::parse("large_segment_size_mb:48")), 48_MiB);
  EXPECT_EQ(segment_bytes(20_MiB, AllocatorConfig::parse("large_segment_size_mb:48")), 20_MiB);
}

TEST(Pools, SmallOnesTakeBlocksUpToOneMebibyte) {
  EXPECT_TRUE(is_small(512));
  EXPECT_TRUE(is_small(1_MiB));
  EXPECT_FALSE(is_small(1_MiB + 512));
}

}  // namespace
}  // namespace elixir::memory
