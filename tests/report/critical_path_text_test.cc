// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/critical_path_text.h"

#include <gtest/gtest.h>

namespace elixir::report {
namespace {

using schedule::CriticalPath;
using schedule::Stream;

CriticalPath path_of(double compute_ns, double copies_ns, double cpu_ns, double idle_ns) {
  CriticalPath path;
  path.by_stream_ns[static_cast<std::size_t>(Stream::kCompute)] = compute_ns;
  path.by_stream_ns[static_cast<std::size_t>(Stream::kDeviceToHost)] = copies_ns;
  path.by_stream_ns[static_cast<std::size_t>(Stream::kCpu)] = cpu_ns;
  path.idle_ns = idle_ns;
  return path;
}

TEST(CriticalPathText, ShowsTheLargestShareFirst) {
  EXPECT_EQ(shares_of(path_of(300, 100, 500, 100)),
            "cpu 50 %, compute 30 %, idle 10 %, device-to-host 10 %");
}

TEST(CriticalPathText, LeavesOutWhatWouldBeZero) {
  EXPECT_EQ(shares_of(path_of(1000, 0, 4, 0)), "compute 100 %");
  EXPECT_EQ(shares_of(path_of(990, 0, 0, 10)), "compute 99 %, idle 1 %");
  EXPECT_EQ(shares_of({}), "");
}

TEST(CriticalPathText, OfAPlanIsItsStreams) {
  plan::Predicted predicted;
  predicted.streams = {{.stream = "compute", .busy_ns = 90, .critical_ns = 80},
                       {.stream = "cpu", .busy_ns = 70, .critical_ns = 20}};
  const auto path = critical_path_of(predicted);
  ASSERT_TRUE(path.has_value());
  EXPECT_EQ(shares_of(*path), "compute 80 %, cpu 20 %");
  for (plan::StreamTime& stream : predicted.streams) stream.critical_ns.reset();
  EXPECT_FALSE(critical_path_of(predicted).has_value());  // of an older plan
}

}  // namespace
}  // namespace elixir::report
