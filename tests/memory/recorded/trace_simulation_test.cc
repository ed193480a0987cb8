// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/recorded/trace_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "small_trace.h"

namespace elixir::memory {
namespace {

using testing::HasSubstr;

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TraceSimulation, FindsNoDifferenceInWhatTheAllocatorDoes) {
  const TraceSimulation result = simulate_trace(read_recorded_trace(kTrace, "x"));
  EXPECT_FALSE(result.difference.has_value())
      << result.difference->expected << " / " << result.difference->simulated;
  EXPECT_EQ(result.compared_device_events, 2);
  EXPECT_EQ(result.statistics.reserved.current, 22_MiB);
}

TEST(TraceSimulation, GivesNewSegmentsTheirRecordedAddresses) {
  // Both segments have a free block of 12 MiB. The second is at a lower address and is used first.
  const std::string text = std::string(kHeader) +
                           "s+ 12582912 0 @9000000\na 12582912 @9000000\n"
                           "s+ 12582912 0 @2000000\na 12582912 @2000000\n"
                           "f 1\nf 2\na 12582912 @2000000\n";
  EXPECT_FALSE(simulate_trace(read_recorded_trace(text, "x")).difference.has_value());
}

TEST(TraceSimulation, ReportsTheFirstDifference) {
  const struct {
    const char* from;
    const char* to;
    int line;
    const char* expected;
    const char* simulated;
  } kCases[] = {
      {"s+ 2097152 0 @5", "s+ 4194304 0 @5", 8, "s+ 4194304 0 @5000000", "s+ 2097152 0 @5000000"},
      {"s+ 20971520 1 @1", "s+ 20971520 2 @1", 11, "s+ 20971520 2", "s+ 20971520 1"},
      {"a 600\n", "a 2000000\n", 10, "nothing on the device", "s+ 20971520 0"},
      {"a 600\n", "a 600 @5000400\n", 10, "a 600 0 @5000400", "a 600 0 @5000200"},
      {"a 600\n", "a 600\ns- 2097152 0 @5000000\n", 11, "s- 2097152", "s+ 20971520 1"},
      {"a 600\n", "oom 600\na 600\n", 10, "oom 600 0", "a 600 0"},
      {"f 3\n", "f 3\na 200000000\n", 14, "a 200000000 0", "oom 200000000 0"},
      {"p 3001856", "p 3002880", 14, "p 3002880 23068672", "p 3001856 23068672"},
      {"17971200f", "17971200a", 0, "3000320a 17971200a", "3000320a 17971200f"},
      {"g @5000000 0 small 512f 1024a 2095616f\n", "", 0, "no segment", "g @5000000 0 small"},
  };
  for (const auto& c : kCases) {
    const TraceSimulation result =
        simulate_trace(read_recorded_trace(with(kTrace, c.from, c.to), "x"));
    ASSERT_TRUE(result.difference.has_value()) << c.to;
    EXPECT_EQ(result.difference->line, c.line) << c.to;
    EXPECT_THAT(result.difference->expected, HasSubstr(c.expected));
    EXPECT_THAT(result.difference->simulated, HasSubstr(c.simulated));
  }
}

TEST(TraceSimulation, UnderAnotherConfigurationPartsWhereItMatters) {
  const RecordedTrace trace = read_recorded_trace(kTrace, "x");
  const TraceSimulation result =
      simulate_trace(trace, AllocatorConfig::parse("expandable_segments:True"));
  ASSERT_TRUE(result.difference.has_value());
  EXPECT_EQ(result.difference->simulated, "m+ 2097152 0 @1000000000000000");
}

TEST(TraceSimulation, ComparesWhatEmptyCacheGivesBack) {
  const std::string text = std::string(kHeader) +
                           "s+ 12582912 0 @9000000\na 12582912\nf 1\ne\n"
                           "s- 12582912 0 @9000000\ns+ 12582912 0 @2000000\na 12582912\n";
  EXPECT_FALSE(simulate_trace(read_recorded_trace(text, "x")).difference.has_value());
  const TraceSimulation result =
      simulate_trace(read_recorded_trace(with(text, "s- 12582912 0 @9000000\n", ""), "x"));
  ASSERT_TRUE(result.difference.has_value());
  EXPECT_EQ(result.difference->simulated, "s- 12582912 0 @9000000");
}

TEST(TraceSimulation, WaitsForOtherStreamsAsTheRecordSays) {
  const std::string text = std::string(kHeader) +
                           "s+ 12582912 0 @1000000\na 12582912\nq 1\n"
                           "s+ 12582912 0 @2000000\na 12582912\n"
                           "c 2\na 12582912 @1000000\n";
  EXPECT_FALSE(simulate_trace(read_recorded_trace(text, "x")).difference.has_value());
}

TEST(TraceSimulation, AFreeThatARetryWaitedForIsNotReusedBefore) {
  // The waiting block would serve the request if its events had been noticed first.
  const std::string header = with(kHeader, "allowed none", "allowed 20971520");
  const std::string text = header +
                           "s+ 12582912 0 @1000000\na 12582912\nq 1\n"
                           "c 1\ns- 12582912 0 @1000000\ns+ 12582912 0 @2000000\na 11534336\n";
  EXPECT_FALSE(simulate_trace(read_recorded_trace(text, "x")).difference.has_value());
}

}  // namespace
}  // namespace elixir::memory
