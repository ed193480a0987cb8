// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The simulator behaves like LibTorch 2.11's own allocator. libc10_cuda runs here on a fake CUDA
// device. Addresses, device calls, statistics and blocks are compared after every call.

#include <c10/core/AllocatorConfig.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "memory/allocator/config.h"
#include "memory/libtorch/allocator_pair.h"
#include "memory/recorded/trace_simulation.h"

namespace elixir::tests {
namespace {

struct Case {
  const char* name;
  const char* config;
  std::int64_t capacity_mib;
  std::int64_t allowed_1024ths;
  int streams;
  bool runs_full;  ///< requests fail
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

/// Sizes as in a training step: many small ones, and large ones that repeat.
std::int64_t draw_bytes(std::mt19937_64& random) {
  static constexpr std::int64_t kCommon[] = {4,
                                             512,
                                             1024,
                                             4096,
                                             65536,
                                             1 << 20,
                                             (1 << 20) + 1,
                                             3 << 20,
                                             10 << 20,
                                             (10 << 20) - 512,
                                             20 << 20,
                                             21 << 20,
                                             64 << 20,
                                             100 << 20};
  const std::uint64_t kind = random() % 10;
  if (kind < 4) return kCommon[random() % std::size(kCommon)];
  const int most_bits = kind < 8 ? 20 : 28;
  const std::uint64_t bits = random() % static_cast<std::uint64_t>(most_bits);
  return 1 + static_cast<std::int64_t>(random() % (std::uint64_t{2} << bits));
}

class LibTorchAllocator : public testing::TestWithParam<Case> {};

TEST_P(LibTorchAllocator, DoesTheSame) {
  const Case& c = GetParam();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    PairOptions options;
    options.config = c.config;
    options.capacity_bytes = c.capacity_mib << 20;
    options.allowed_1024ths = c.allowed_1024ths;
    options.seed = seed;
    AllocatorPair pair(options);
    std::mt19937_64 random(seed);
    const bool shares = c.streams > 1 && seed % 2 == 1;
    std::vector<std::size_t> live;
    for (int step = 0; step < 8000; ++step) {
      // Phases in which memory fills and empties.
      const bool filling = step / 1000 % 2 == 0;
      const std::uint64_t choice = random() % 100;
      if (choice < (filling ? 65U : 35U) || live.empty()) {
        const auto stream = static_cast<memory::StreamId>(random() % std::uint64_t(c.streams));
        const auto made = pair.allocate(draw_bytes(random), stream);
        if (made) live.push_back(*made);
      } else if (choice < 96) {
        const std::size_t at = random() % live.size();
        pair.free(live[at]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (choice < 98 && shares) {
        pair.record_stream(live[random() % live.size()],
                           static_cast<memory::StreamId>(random() % std::uint64_t(c.streams)));
      } else if (choice < 99) {
        pair.complete_events(static_cast<memory::StreamId>(random() % std::uint64_t(c.streams)));
      } else if (random() % 8 == 0) {
        pair.empty_cache();
      }
      ASSERT_EQ(pair.difference(), "") << "seed " << seed << ", step " << step;
      if (step % 100 == 0) {
        ASSERT_EQ(pair.snapshot_difference(), "") << "seed " << seed << ", step " << step;
      }
    }
    ASSERT_EQ(pair.snapshot_difference(), "") << "seed " << seed;
    EXPECT_EQ(pair.statistics().out_of_memory > 0, c.runs_full);
    EXPECT_EQ(pair.statistics().retries > 0, c.runs_full);
    // A record does not distinguish frees that a retry waited for from frees that had completed.
    if (shares && c.runs_full) continue;
    const memory::TraceSimulation simulation = memory::simulate_trace(pair.trace());
    if (simulation.difference) {
      ADD_FAILURE() << "event " << simulation.difference->event << ": "
                    << simulation.difference->expected << " / " << simulation.difference->simulated;
    }
    EXPECT_GT(simulation.compared_device_events, 50);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Configurations,
    LibTorchAllocator,
    testing::Values(
        Case{"Default", "", 81920, 1024, 1, false},
        Case{"Streams", "", 81920, 1024, 3, false},
        Case{"Limit", "", 81920, 16, 1, true},
        Case{"LimitAndStreams", "", 81920, 20, 3, true},
        Case{"DeviceFull", "", 1500, 1024, 2, true},
        Case{"MaxSplit", "max_split_size_mb:32", 81920, 16, 2, true},
        Case{"MaxSplitOfASegment", "max_split_size_mb:20", 1800, 1024, 1, true},
        Case{"NonSplitRounding",
             "max_split_size_mb:40,max_non_split_rounding_mb:60",
             81920,
             16,
             1,
             true},
        Case{"Garbage", "garbage_collection_threshold:0.5", 81920, 16, 2, true},
        Case{"GarbageAndMaxSplit",
             "garbage_collection_threshold:0.8,max_split_size_mb:64",
             81920,
             16,
             1,
             true},
        Case{"GarbageWithoutLimit", "garbage_collection_threshold:0.1", 1500, 1024, 1, true},
        Case{"Divisions", "roundup_power2_divisions:4", 81920, 1024, 2, false},
        Case{"DivisionsByInterval",
             "roundup_power2_divisions:[1:8,4:2,16:16,>:4]",
             81920,
             20,
             1,
             true},
        Case{"LargeSegment", "large_segment_size_mb:40", 81920, 20, 2, true},
        Case{"Expandable", "expandable_segments:True", 81920, 1024, 1, false},
        Case{"ExpandableStreams", "expandable_segments:True", 81920, 1024, 3, false},
        Case{"ExpandableLimit", "expandable_segments:True", 81920, 16, 2, true},
        Case{"ExpandableDeviceFull", "expandable_segments:True", 1500, 1024, 2, true},
        Case{"ExpandableMaxSplit",
             "expandable_segments:True,max_split_size_mb:32",
             81920,
             16,
             1,
             true},
        Case{"ExpandableGarbage",
             "expandable_segments:True,garbage_collection_threshold:0.6",
             81920,
             16,
             1,
             true},
        Case{"ExpandableLargePages",
             "expandable_segments:True,large_segment_size_mb:64",
             81920,
             20,
             2,
             true},
        Case{"ExpandableDivisions",
             "expandable_segments:True,roundup_power2_divisions:8",
             81920,
             16,
             1,
             true}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

/// LibTorch's parser for the same text.
struct RealConfig {
  bool accepted = false;
  std::vector<std::size_t> divisions;
  std::size_t max_split = 0, rounding = 0, large_segment = 0;
  double threshold = 0;
  bool expandable = false;
};

RealConfig read_with_libtorch(const std::string& text) {
  using Config = c10::CachingAllocator::AcceleratorAllocatorConfig;
  RealConfig config;
  // Some options keep their value from the previous text.
  c10::CachingAllocator::setAllocatorSettings("large_segment_size_mb:20,expandable_segments:False");
  try {
    c10::CachingAllocator::setAllocatorSettings(text);
  } catch (const std::exception&) {
    return config;
  }
  config.accepted = true;
  config.divisions = Config::roundup_power2_divisions();
  config.max_split = Config::max_split_size();
  config.rounding = Config::max_non_split_rounding_size();
  config.large_segment = Config::large_segment_size();
  config.threshold = Config::garbage_collection_threshold();
  config.expandable = Config::use_expandable_segments();
  return config;
}

class LibTorchReads : public testing::TestWithParam<const char*> {};

TEST_P(LibTorchReads, TheSameConfiguration) {
  const RealConfig real = read_with_libtorch(GetParam());
  ASSERT_TRUE(real.accepted);
  const auto ours = memory::AllocatorConfig::parse(GetParam());
  for (std::size_t i = 0; i < memory::kDivisionIntervals; ++i) {
    EXPECT_EQ(std::int64_t(real.divisions.at(i)), ours.roundup_power2_divisions[i]) << i;
  }
  const bool unlimited = ours.max_split_bytes == memory::AllocatorConfig::kUnlimited;
  EXPECT_EQ(real.max_split, unlimited ? SIZE_MAX : std::size_t(ours.max_split_bytes));
  EXPECT_EQ(real.rounding, std::size_t(ours.max_non_split_rounding_bytes));
  EXPECT_EQ(real.large_segment, std::size_t(ours.large_segment_bytes));
  EXPECT_EQ(real.threshold, ours.garbage_collection_threshold);
  EXPECT_EQ(real.expandable, ours.expandable_segments);
}

INSTANTIATE_TEST_SUITE_P(
    Texts,
    LibTorchReads,
    testing::Values("",
                    "expandable_segments:True",
                    " expandable_segments : True , max_split_size_mb : 1 28",
                    "max_split_size_mb:20",
                    "max_split_size_mb:30,large_segment_size_mb:30",
                    "large_segment_size_mb:11,max_split_size_mb:11",
                    "large_segment_size_mb:32",
                    "max_non_split_rounding_mb:64,max_split_size_mb:64",
                    "garbage_collection_threshold:0.8",
                    "garbage_collection_threshold:1e-3",
                    "roundup_power2_divisions:8",
                    "roundup_power2_divisions:1",
                    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
                    "roundup_power2_divisions:[64:8,256:4,1024:4,>:1]",
                    "roundup_power2_divisions:[>:8]",
                    "roundup_power2_divisions:[1:0,>:2]",
                    "roundup_power2_divisions:[131072:2]",
                    "roundup_power2_divisions:[4:2,2:4,>:8]",
                    "roundup_power2_divisions:[2:4,]",
                    "roundup_power2_divisions:[]",
                    "expandable_segments:True,",
                    "backend:native,pinned_use_background_threads:True",
                    "pinned_num_register_threads:8,pinned_use_cuda_host_register:True",
                    "release_lock_on_cudamalloc:True,graph_capture_record_stream_reuse:True",
                    "pinned_reserve_segment_size_mb:64"));

class LibTorchRefuses : public testing::TestWithParam<const char*> {};

TEST_P(LibTorchRefuses, WhatWeRefuse) {
  EXPECT_FALSE(read_with_libtorch(GetParam()).accepted);
  EXPECT_ANY_THROW(static_cast<void>(memory::AllocatorConfig::parse(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Texts,
                         LibTorchRefuses,
                         testing::Values("max_split_size_mb:19",
                                         "max_split_size_mb",
                                         "max_split_size_mb:",
                                         "max_split_size_mb:many",
                                         "large_segment_size_mb:10",
                                         "max_non_split_rounding_mb:19",
                                         "garbage_collection_threshold:0",
                                         "garbage_collection_threshold:1",
                                         "per_process_memory_fraction:1.5",
                                         "roundup_power2_divisions:3",
                                         "roundup_power2_divisions:0",
                                         "roundup_power2_divisions:[3:2]",
                                         "roundup_power2_divisions:[4:3]",
                                         "roundup_power2_divisions:[4:2",
                                         "expandable_segments:true",
                                         "max_splt_size_mb:128",
                                         "expandable_segments:True;max_split_size_mb:64",
                                         "pinned_num_register_threads:3",
                                         "pinned_num_register_threads:256",
                                         "pinned_reserve_segment_size_mb:0",
                                         "backend:other"));

}  // namespace
}  // namespace elixir::tests
