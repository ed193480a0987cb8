// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/trace/schedule_trace.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json.h"

namespace elixir::report {
namespace {

schedule::Task task(schedule::TaskId id, schedule::TaskKind kind, schedule::Stream stream) {
  schedule::Task task;
  task.id = id;
  task.kind = kind;
  task.stream = stream;
  return task;
}

class ScheduleTrace : public ::testing::Test {
 protected:
  ScheduleTrace() {
    program_.modules = {"", "block.0", "block.\"1\""};
    for (int i = 0; i < 2; ++i) {
      program::Operator op;
      op.id = i;
      op.module = i + 1;
      op.name = i == 0 ? "aten::gelu" : "aten::mm";
      op.flops = i;
      program_.operators.push_back(op);
    }
    schedule::Task compute = task(0, schedule::TaskKind::kCompute, schedule::Stream::kCompute);
    compute.first = 0;
    compute.last = 2;
    schedule::Task fetch = task(1, schedule::TaskKind::kFetch, schedule::Stream::kHostToDevice);
    fetch.chunk = 3;
    fetch.bytes = 512;
    schedule_.tasks = {compute, fetch};
  }
  Json written(const std::vector<Timeline>& timelines) {
    std::string text;
    write_schedule_trace(
        schedule_, program_, timelines, [&](std::string_view piece) { text += piece; });
    return Json::parse(text);
  }
  program::Program program_;
  schedule::Schedule schedule_;
};

TEST_F(ScheduleTrace, LabelsNameWhatRunsAndChunks) {
  EXPECT_EQ(label_of(schedule_.tasks[0], program_),
            "forward block.0 - block.\"1\": aten::mm and 1 more");
  EXPECT_EQ(label_of(schedule_.tasks[1], program_), "fetch chunk 3");
}

TEST_F(ScheduleTrace, EachTimelineIsAProcessWithTheSameTasks) {
  const Json trace = written({{"predicted", {{0, 10}, {5, 8}}},
                              {"measured rank 0", {{0, 123456789012345.0}, {1500, 1501}}}});
  std::vector<Json> slices;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") slices.push_back(event);
  }
  ASSERT_EQ(slices.size(), 4U);
  EXPECT_EQ(slices[0]["name"], slices[2]["name"]);
  EXPECT_EQ(slices[0]["pid"], 0);
  EXPECT_EQ(slices[2]["pid"], 1);
  EXPECT_NE(slices[0]["tid"], slices[1]["tid"]);
  EXPECT_EQ(slices[1]["args"]["bytes"], 512);
  EXPECT_DOUBLE_EQ(slices[3]["ts"].get<double>(), 1.5);
  EXPECT_DOUBLE_EQ(slices[3]["dur"].get<double>(), 0.001);
}

TEST_F(ScheduleTrace, MeasuredTasksTellHowLateTheyBegan) {
  // The copy of the step before ended at 3,000.
  const Json trace = written(
      {{"predicted", {{0, 10}, {5, 8}}}, {"measured rank 0", {{0, 4000}, {4500, 8000}}, 5000}});
  std::vector<Json> late;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["args"].contains("late_us")) late.push_back(event);
  }
  ASSERT_EQ(late.size(), 2U);
  EXPECT_EQ(late[0]["pid"], 1);
  EXPECT_DOUBLE_EQ(late[1]["args"]["late_us"].get<double>(), 1.5);
}

TEST_F(ScheduleTrace, AnotherSchedulesTimesAreABug) {
  try {
    (void)written({{"measured rank 0", {{0, 1}}}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kInternal);
  }
}

}  // namespace
}  // namespace elixir::report
