// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Simulates recorded traces of LibTorch's allocator: segments, peaks and blocks equal the recorded
// ones, to the byte. ELIXIR_TRACES lists the directories to search, separated by colons.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/files.h"
#include "memory/recorded/trace.h"
#include "memory/recorded/trace_simulation.h"

namespace elixir::memory {
namespace {

std::vector<std::string> traces() {
  const char* variable = std::getenv("ELIXIR_TRACES");
  std::string_view directories = variable == nullptr ? "" : variable;
  std::vector<std::string> files;
  while (!directories.empty()) {
    const std::size_t end = std::min(directories.find(':'), directories.size());
    const std::filesystem::path directory(directories.substr(0, end));
    directories.remove_prefix(std::min(end + 1, directories.size()));
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(directory, missing)) {
      if (entry.path().extension() == ".trace") files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Without this test, missing data would silently mean missing tests. Ten traces are in the tree as
/// plain files; the others are packed.
TEST(RecordedTracesData, IsThere) {
  EXPECT_GE(traces().size(), 150U) << "ELIXIR_TRACES: the folders of *.trace, by colons";
}

class RecordedTraces : public testing::TestWithParam<std::string> {};

TEST_P(RecordedTraces, AreReproducedToTheByte) {
  const RecordedTrace trace = read_recorded_trace(read_file(GetParam()), GetParam());
  const TraceSimulation result = simulate_trace(trace);
  if (result.difference) {
    FAIL() << GetParam() << ":" << result.difference->line << ": recorded `"
           << result.difference->expected << "`, simulated `" << result.difference->simulated
           << "`";
  }
  EXPECT_GT(result.compared_device_events, 0);
  EXPECT_TRUE(trace.final_segments.has_value());
  EXPECT_TRUE(std::any_of(trace.events.begin(), trace.events.end(), [](const RecordedEvent& event) {
    return event.kind == RecordedEvent::Kind::kPeaks;
  }));
}

INSTANTIATE_TEST_SUITE_P(Files,
                         RecordedTraces,
                         testing::ValuesIn(traces()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = std::filesystem::path(info.param).stem().string();
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace elixir::memory
