// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/allocator/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/error.h"

namespace elixir::memory {
namespace {

using testing::Each;
using testing::HasSubstr;

ErrorInfo error_in_config(const std::string& text) {
  try {
    static_cast<void>(AllocatorConfig::parse(text, "--allocator"));
  } catch (const Error& error) {
    return error.info();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

TEST(AllocatorConfig, EmptyTextIsTheDefault) {
  const AllocatorConfig config = AllocatorConfig::parse("");
  EXPECT_EQ(config, AllocatorConfig{});
  EXPECT_EQ(config.text(), "");
  EXPECT_EQ(config.large_segment_bytes, 20_MiB);
  EXPECT_EQ(config.max_split_bytes, AllocatorConfig::kUnlimited);
  EXPECT_EQ(config.garbage_collection_threshold, 0);
  EXPECT_FALSE(config.expandable_segments);
}

TEST(AllocatorConfig, ReadsEveryOption) {
  const auto config = AllocatorConfig::parse(
      "max_split_size_mb:128, garbage_collection_threshold:0.8 ,expandable_segments:True,"
      "roundup_power2_divisions:4,max_non_split_rounding_mb:32,large_segment_size_mb:24,"
      "per_process_memory_fraction:0.5");
  EXPECT_EQ(config.max_split_bytes, 128_MiB);
  EXPECT_EQ(config.garbage_collection_threshold, 0.8);
  EXPECT_TRUE(config.expandable_segments);
  EXPECT_THAT(config.roundup_power2_divisions, Each(4));
  EXPECT_EQ(config.max_non_split_rounding_bytes, 32_MiB);
  EXPECT_EQ(config.large_segment_bytes, 24_MiB);
  EXPECT_EQ(config.per_process_memory_fraction, 0.5);
}

TEST(AllocatorConfig, ALargerSegmentRaisesTheRoundingOfUnsplitBlocks) {
  EXPECT_EQ(AllocatorConfig::parse("large_segment_size_mb:40").max_non_split_rounding_bytes,
            40_MiB);
}

TEST(AllocatorConfig, TheFirstBoundaryHoldsBelowAndTheLastMarkAbove) {
  const auto steps = AllocatorConfig::parse("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]")
                         .roundup_power2_divisions;
  EXPECT_THAT(steps, testing::ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8));
}

TEST(AllocatorConfig, ABoundaryLeftOutKeepsZero) {
  const auto steps =
      AllocatorConfig::parse("roundup_power2_divisions:[2:4,16:8]").roundup_power2_divisions;
  EXPECT_THAT(steps, testing::ElementsAre(4, 4, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(AllocatorConfig, KeepsOptionsThatChangeNoSizeAsTheyWere) {
  const std::string text =
      "backend:native,pinned_num_register_threads:8,release_lock_on_cudamalloc:True";
  const auto config = AllocatorConfig::parse(text);
  EXPECT_THAT(
      config.ignored,
      testing::ElementsAre(
          "backend:native", "pinned_num_register_threads:8", "release_lock_on_cudamalloc:True"));
  EXPECT_EQ(config.text(), text);
}

TEST(AllocatorConfig, PrintsWhatItReads) {
  for (const char* text : {"expandable_segments:True",
                           "max_split_size_mb:64",
                           "large_segment_size_mb:30,max_split_size_mb:30",
                           "max_non_split_rounding_mb:64",
                           "garbage_collection_threshold:0.8",
                           "roundup_power2_divisions:8",
                           "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
                           "per_process_memory_fraction:0.25"}) {
    EXPECT_EQ(AllocatorConfig::parse(text).text(), text);
  }
}

TEST(AllocatorConfig, PrintsAnyDivisionsSoThatTheyAreReadBack) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    AllocatorConfig config;
    for (std::int64_t& steps : config.roundup_power2_divisions) {
      steps = random() % 3 == 0 ? 0 : std::int64_t{1} << random() % 4;
    }
    EXPECT_EQ(AllocatorConfig::parse(config.text()), config) << config.text();
  }
}

TEST(AllocatorConfig, NamesAnUnknownOptionItsPlaceAndTheNearest) {
  const ErrorInfo error = error_in_config("expandable_segments:True,max_split_size_m:64");
  EXPECT_EQ(error.code, ErrorCode::kBadAllocatorConfig);
  EXPECT_EQ(exit_code_of(error.code), 2);
  EXPECT_EQ(error.message, "unknown allocator option `max_split_size_m`");
  EXPECT_EQ(error.where->file, "--allocator");
  EXPECT_EQ(error.where->byte_offset, 25);
  EXPECT_THAT(error.help, testing::ElementsAre("did you mean `max_split_size_mb`?"));
  EXPECT_THAT(error_in_config("speed:fast").help,
              testing::ElementsAre(HasSubstr("max_split_size_mb")));
}

TEST(AllocatorConfig, SaysWhatAValueShouldBe) {
  const struct {
    const char* text;
    const char* message;
    const char* help;
    long long byte;
  } kCases[] = {
      {"max_split_size_mb:19", "`19` is not a value", "20 or more", 18},
      {"large_segment_size_mb:40,max_split_size_mb:39", "`39`", "40 or more", 43},
      {"large_segment_size_mb:10", "`10`", "11 or more", 22},
      {"max_non_split_rounding_mb:2", "`2`", "20 or more", 26},
      {"max_split_size_mb:99999999999999999999", "not a value", "MiB", 18},
      {"max_split_size_mb:64x", "`64x`", "MiB", 18},
      {"max_split_size_mb:-64", "`-64`", "MiB", 18},
      {"garbage_collection_threshold:1", "`1`", "between 0 and 1", 29},
      {"garbage_collection_threshold:nan", "`nan`", "between 0 and 1", 29},
      {"per_process_memory_fraction:1.01", "`1.01`", "from 0 to 1", 28},
      {"expandable_segments:true", "`true`", "`True` or `False`", 20},
      {"roundup_power2_divisions:3", "`3`", "power of two", 25},
      {"roundup_power2_divisions:[3:2]", "`[3:2]`", "boundaries in MiB", 25},
      {"roundup_power2_divisions:[4:3]", "`[4:3]`", "powers of two or 0", 25},
      {"roundup_power2_divisions:[4]", "`[4]`", "boundary:divisions", 25},
      {"backend:cudaMallocAsync", "`cudaMallocAsync`", "not simulated", 8},
      {"pinned_num_register_threads:3", "`3`", "power of two", 28},
      {"expandable_segments:[True]", "`[True]`", "not a list", 20},
      {"max_split_size_mb", "lacks `:`", "option:value", 17},
      {"max_split_size_mb:", "has no value", "option:value", 18},
      {"max_split_size_mb:,", "has no value", "option:value", 18},
      {"max_split_size_mb:64 expandable_segments:True", "lacks `,`", "option:value", 40},
      {"roundup_power2_divisions:[4:2", "lacks `]`", "option:value", 29},
      {"expandable_segments:True,expandable_segments:False", "given twice", "once", 25},
      {",expandable_segments:True", "unknown allocator option `,`", "knows", 0},
  };
  for (const auto& c : kCases) {
    const ErrorInfo error = error_in_config(c.text);
    EXPECT_THAT(error.message, HasSubstr(c.message)) << c.text;
    ASSERT_EQ(error.help.size(), 1U) << c.text;
    EXPECT_THAT(error.help[0], HasSubstr(c.help)) << c.text;
    EXPECT_EQ(error.where->byte_offset, c.byte) << c.text;
  }
}

}  // namespace
}  // namespace elixir::memory
