// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The traces in tests/data/traces come from LibTorch's allocator on the fake device. With them, the
// planning half's tests can compare with LibTorch without linking it. ELIXIR_TEST_ACCEPT=1 rewrites
// them and skips the test.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "core/files.h"
#include "memory/libtorch/allocator_pair.h"
#include "memory/recorded/trace.h"

namespace elixir::tests {
namespace {

struct TrainingCase {
  const char* name;
  const char* config;
  std::int64_t capacity_mib;
  std::int64_t allowed_1024ths;
  int streams;
};

void PrintTo(const TrainingCase& c, std::ostream* out) {
  *out << c.name;
}

constexpr int kLayers = 24;

/// Steps of a training: the same sizes repeat, backward frees in reverse order what forward
/// allocates, and temporaries come and go.
void train(AllocatorPair& pair, int streams, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> sizes;
  sizes.reserve(kLayers);
  for (int layer = 0; layer < kLayers; ++layer) {
    sizes.push_back(
        1 + static_cast<std::int64_t>(random() % (std::uint64_t{2} << (9 + random() % 16))));
  }
  for (int step = 0; step < 4; ++step) {
    std::vector<std::size_t> kept;
    for (std::size_t layer = 0; layer < sizes.size(); ++layer) {
      const auto stream = static_cast<memory::StreamId>(layer % static_cast<std::size_t>(streams));
      // The sequence grows from step to step.
      const auto temporary = pair.allocate(sizes[layer] / 2 * (step + 1) + 64, stream);
      const auto activation = pair.allocate(sizes[layer], stream);
      if (temporary) pair.free(*temporary);
      if (activation) kept.push_back(*activation);
      if (activation && streams > 1 && layer % 5 == 0) pair.record_stream(*activation, streams);
    }
    if (step == 2) pair.empty_cache();
    while (!kept.empty()) {
      const auto gradient = pair.allocate(sizes[kept.size() - 1], 0);
      pair.free(kept.back());
      kept.pop_back();
      if (gradient) pair.free(*gradient);
    }
    pair.complete_events(streams);
  }
  static_cast<void>(pair.allocate(sizes.front(), 0));
}

class LibTorchTraces : public testing::TestWithParam<TrainingCase> {};

TEST_P(LibTorchTraces, AreTheCommittedOnes) {
  const TrainingCase& c = GetParam();
  PairOptions options;
  options.config = c.config;
  options.capacity_bytes = c.capacity_mib << 20;
  options.allowed_1024ths = c.allowed_1024ths;
  options.seed = 5;
  AllocatorPair pair(options);
  train(pair, c.streams, 3);
  EXPECT_EQ(pair.difference(), "");
  const std::string text = write_recorded_trace(pair.trace());
  const std::string path = std::string(ELIXIR_TRACES) + "/fake-device-" + c.name + ".trace";
  if (std::getenv("ELIXIR_TEST_ACCEPT") != nullptr) {
    write_file(path, text, Overwrite::kAllow);
    GTEST_SKIP() << path << " written";
  }
  EXPECT_EQ(read_file(path), text)
      << path << " differs; ELIXIR_TEST_ACCEPT=1 writes it anew for `git diff`";
}

INSTANTIATE_TEST_SUITE_P(
    Configurations,
    LibTorchTraces,
    testing::Values(TrainingCase{"default", "", 81920, 1024, 1},
                    TrainingCase{"streams", "", 81920, 1024, 3},
                    TrainingCase{"limit", "", 81920, 1, 1},
                    TrainingCase{"device-full", "", 90, 1024, 1},
                    TrainingCase{"max-split", "max_split_size_mb:20", 81920, 1, 1},
                    TrainingCase{"garbage", "garbage_collection_threshold:0.5", 81920, 2, 1},
                    TrainingCase{
                        "divisions", "roundup_power2_divisions:[1:4,8:2,>:8]", 81920, 1024, 1},
                    TrainingCase{"large-segment", "large_segment_size_mb:32", 81920, 1, 1},
                    TrainingCase{"expandable", "expandable_segments:True", 81920, 1024, 2},
                    TrainingCase{"expandable-limit", "expandable_segments:True", 81920, 1, 1}),
    [](const testing::TestParamInfo<TrainingCase>& info) {
      std::string name = info.param.name;
      for (char& letter : name) {
        if (letter == '-') letter = '_';
      }
      return name;
    });

}  // namespace
}  // namespace elixir::tests
