// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Times by hand: steps that overlap, and tasks that slow each other down.
#include "schedule/simulate/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <vector>

namespace elixir::schedule {
namespace {

using Use = Timeline::Use;

constexpr hardware::HostContentions kNone{};

TEST(Timeline, AnUpdateRunsBesideTheNextStep) {
  // Backward 5, then an update of 10, which the next forward of 8 waits for or not.
  for (const bool waits : {false, true}) {
    Timeline timeline(false, kNone);
    timeline.add(Stream::kCompute, Use::kNothing, 8, {});
    timeline.add(Stream::kCompute, Use::kNothing, 5, {});
    timeline.add(Stream::kCpu, Use::kHostMemory, 10, std::vector<TaskId>{1});
    std::vector<StepLink> links = {{.task = 1, .previous = 2}};
    if (waits) links = {{.task = 0, .previous = 2}};
    EXPECT_EQ(timeline.steady_step_ns(links), waits ? 23 : 15);
    // From the end of the compute stream's part of the step before.
    EXPECT_EQ(timeline.times()[0].start_ns, waits ? 10 : 0);
    EXPECT_EQ(timeline.times()[2].end_ns, waits ? 33 : 25);
    EXPECT_EQ(timeline.busy_ns()[static_cast<std::size_t>(Stream::kCompute)], 13);
  }
}

TEST(Timeline, LoadsOfStateWaitForOtherCopiesTheSameWay) {
  for (const bool late : {false, true}) {
    Timeline timeline(false, kNone);
    timeline.add(Stream::kDeviceUpdate, Use::kStateToDevice, 4, {});
    timeline.add(Stream::kCompute, Use::kNothing, 3, {});
    timeline.add(Stream::kHostToDevice,
                 Use::kToDevice,
                 10,
                 late ? std::vector<TaskId>{1} : std::vector<TaskId>{});
    timeline.add(Stream::kCompute, Use::kNothing, 1, std::vector<TaskId>{0, 2});
    // The step after waits for everything.
    std::vector<StepLink> links;
    for (const TaskId task : {0, 1, 2}) links.push_back({.task = task, .previous = 3});
    EXPECT_EQ(timeline.steady_step_ns(links), 15);
    EXPECT_EQ(timeline.times()[2].end_ns, late ? 13 : 10);
    EXPECT_EQ(timeline.times()[0].end_ns, 14);
  }
}

TEST(Timeline, CopiesToTheHostShareTheLink) {
  Timeline timeline(false, kNone);
  timeline.add(Stream::kDeviceToHost, Use::kToHost, 10, {});
  timeline.add(Stream::kUpdateToHost, Use::kToHost, 4, {});
  timeline.add(Stream::kCompute, Use::kNothing, 1, std::vector<TaskId>{0, 1});
  const std::vector<StepLink> links = {{.task = 0, .previous = 2}, {.task = 1, .previous = 2}};
  EXPECT_EQ(timeline.steady_step_ns(links), 15);
  EXPECT_EQ(timeline.times()[1].end_ns, 8);
  EXPECT_EQ(timeline.times()[0].end_ns, 14);
}

TEST(Timeline, UsersOfTheHostsMemorySlowEachOtherDown) {
  hardware::HostContentions contentions;
  contentions[0].cpu = {.first = 2, .second = 1, .both = 4};
  contentions[0].to_device.second = 1.5;
  Timeline timeline(false, contentions);
  timeline.add(Stream::kCpu, Use::kHostMemory, 10, {});
  timeline.add(Stream::kHostToDevice, Use::kToDevice, 4, {});
  timeline.add(Stream::kCompute, Use::kNothing, 1, std::vector<TaskId>{0, 1});
  const std::vector<StepLink> links = {{.task = 0, .previous = 2}, {.task = 1, .previous = 2}};
  // The copy takes 6, the update gets 3 of 10 done meanwhile.
  EXPECT_EQ(timeline.steady_step_ns(links), 14);
  EXPECT_EQ(timeline.times()[1].end_ns, 6);
  EXPECT_EQ(timeline.times()[0].end_ns, 13);
}

TEST(Timeline, EachPassOfAdamWContendsAsItself) {
  hardware::HostContentions contentions;
  const auto pass = [&](hardware::AdamWrites writes) -> hardware::HostContention& {
    return contentions[static_cast<std::size_t>(writes)];
  };
  pass(hardware::AdamWrites::kAll).cpu.first = 5;
  pass(hardware::AdamWrites::kParameters).cpu.first = 3;
  pass(hardware::AdamWrites::kMoments).cpu.first = 2;
  pass(hardware::AdamWrites::kMoments).to_device.second = 1.5;
  const auto end_ns = [&](Use use) {
    Timeline timeline(false, contentions);
    timeline.add(Stream::kCpu, use, 10, {});
    timeline.add(Stream::kHostToDevice, Use::kToDevice, 6, {});
    timeline.add(Stream::kCompute, Use::kNothing, 1, std::vector<TaskId>{0, 1});
    const std::vector<StepLink> links = {{.task = 0, .previous = 2}, {.task = 1, .previous = 2}};
    timeline.steady_step_ns(links);
    return std::pair(timeline.times()[0].end_ns, timeline.times()[1].end_ns);
  };
  // The copy takes 6, and 2 of 10 are done meanwhile; or it takes 9, and 4.5 are.
  EXPECT_EQ(end_ns(Use::kUpdateParameters), std::pair(14.0, 6.0));
  EXPECT_EQ(end_ns(Use::kUpdateMoments), std::pair(14.5, 9.0));
}

TEST(Timeline, TheSecondPartOfATaskIsSlowedDownAsItsKind) {
  Timeline timeline(
      false,
      kNone,
      {},
      {.collective = {.compute = 1, .other = 1}, .nccl = {}, .sums = {.compute = 2, .other = 4}});
  timeline.add(Stream::kCompute, Use::kCompute, 8, {});
  timeline.add(Stream::kCollective, Use::kCollective, 3, {});
  timeline.then(Use::kSums, 2);
  timeline.add(Stream::kCompute, Use::kCompute, 1, std::vector<TaskId>{1});
  const std::vector<StepLink> links = {{.task = 1, .previous = 2}};
  // Compute gets 3 of 8 done beside the first part, and 4 more beside the second, which takes 8.
  EXPECT_EQ(timeline.steady_step_ns(links), 13);
  EXPECT_EQ(timeline.times()[1].end_ns, 11);
  EXPECT_EQ(timeline.times()[0].end_ns, 12);
  Timeline serial(true, kNone);
  serial.add(Stream::kCollective, Use::kCollective, 3, {});
  serial.then(Use::kSums, 2);
  EXPECT_EQ(serial.steady_step_ns({}), 5);
}

TEST(Timeline, CollectivesAndComputeSlowEachOtherDown) {
  Timeline timeline(
      false, kNone, {}, {.collective = {.compute = 1.25, .other = 2}, .nccl = {}, .sums = {}});
  timeline.add(Stream::kCompute, Use::kCompute, 8, {});
  timeline.add(Stream::kCollective, Use::kCollective, 10, {});
  timeline.add(Stream::kCompute, Use::kCompute, 1, std::vector<TaskId>{1});
  const std::vector<StepLink> links = {{.task = 1, .previous = 2}};
  // Compute takes 10, and the collective gets half of its work done meanwhile.
  EXPECT_EQ(timeline.steady_step_ns(links), 16);
  EXPECT_EQ(timeline.times()[0].end_ns, 10);
  EXPECT_EQ(timeline.times()[1].end_ns, 15);
}

TEST(Timeline, CopiesSlowComputeDown) {
  hardware::GpuContention contention{
      .collective = {.compute = 2, .other = 1}, .nccl = {}, .sums = {}};
  contention.compute_beside_to_device = 1.5;
  contention.compute_beside_to_host = 1.25;
  const auto compute_ns = [&](std::vector<std::pair<Stream, Use>> others) {
    Timeline timeline(false, kNone, {}, contention);
    timeline.add(Stream::kCompute, Use::kCompute, 8, {});
    std::vector<StepLink> links;
    for (const auto& [stream, use] : others) {
      links.push_back({.task = static_cast<TaskId>(links.size()) + 1, .previous = 0});
      timeline.add(stream, use, 100, {});
    }
    timeline.steady_step_ns(links);
    return timeline.times()[0].end_ns - timeline.times()[0].start_ns;
  };
  EXPECT_EQ(compute_ns({}), 8);
  EXPECT_EQ(compute_ns({{Stream::kHostToDevice, Use::kToDevice}}), 12);
  EXPECT_EQ(compute_ns({{Stream::kDeviceToHost, Use::kToHost}}), 10);
  EXPECT_EQ(
      compute_ns({{Stream::kHostToDevice, Use::kToDevice}, {Stream::kDeviceToHost, Use::kToHost}}),
      15);
  EXPECT_EQ(compute_ns(
                {{Stream::kHostToDevice, Use::kToDevice}, {Stream::kCollective, Use::kCollective}}),
            24);
}

TEST(Timeline, AGatherAndAReductionShareTheLinks) {
  Timeline timeline(
      false, kNone, {}, {.collective = {.compute = 1, .other = 1}, .nccl = {}, .sums = {}});
  timeline.add(Stream::kCollective, Use::kCollective, 6, {});
  timeline.add(Stream::kReduce, Use::kCollective, 4, {});
  const std::vector<StepLink> links = {{.task = 0, .previous = 1}, {.task = 1, .previous = 0}};
  // Each gets 4 done in 8; then the gather goes on alone.
  EXPECT_EQ(timeline.steady_step_ns(links), 10);
  EXPECT_EQ(timeline.times()[1].end_ns - timeline.times()[1].start_ns, 8);
}

TEST(Timeline, TheLastUpdateRunsBesideTheNextStepsFetch) {
  hardware::HostContentions contentions;
  contentions[0].cpu.first = 2;
  Timeline timeline(false, contentions);
  timeline.add(Stream::kHostToDevice, Use::kToDevice, 4, {});
  timeline.add(Stream::kCompute, Use::kNothing, 10, std::vector<TaskId>{0});
  timeline.add(Stream::kCpu, Use::kHostMemory, 12, std::vector<TaskId>{1});
  const std::vector<StepLink> links = {{.task = 0, .previous = 1}, {.task = 1, .previous = 2}};
  // While the fetch takes 4, the update gets 2 of 12 done. Then come its other 10, and compute.
  EXPECT_EQ(timeline.steady_step_ns(links), 24);
}

TEST(Timeline, ProductsTakeLongerWhereTheyFillTheStep) {
  const hardware::SustainedClock clock(
      {{"bf16", 0.5, {.median = 1}}, {"bf16", 1, {.median = 1.2}}});
  // Of 10, 8 are products: a share of 0.8, which makes them take 1.12 times as long.
  Timeline busy(false, kNone, clock);
  busy.add(Stream::kCompute, Use::kNothing, 10, {}, 8);
  EXPECT_DOUBLE_EQ(busy.steady_step_ns({}), 10.96);
  // The same beside an update of 20, which the next step waits for: a share below a half.
  Timeline waiting(false, kNone, clock);
  waiting.add(Stream::kCompute, Use::kNothing, 10, {}, 8);
  waiting.add(Stream::kCpu, Use::kHostMemory, 20, std::vector<TaskId>{0});
  const std::vector<StepLink> links = {{.task = 0, .previous = 1}};
  EXPECT_DOUBLE_EQ(waiting.steady_step_ns(links), 30);
}

TEST(Timeline, OnTheCpuDeviceNothingOverlaps) {
  Timeline timeline(true, kNone);
  timeline.add(Stream::kCompute, Use::kNothing, 8, {});
  timeline.add(Stream::kCpu, Use::kHostMemory, 10, {});
  EXPECT_EQ(timeline.steady_step_ns({}), 18);
  EXPECT_EQ(timeline.times()[1].start_ns, 8);
}

/// Without contention, each task starts when its stream and what it waits for allow: the same times
/// from a walk in issue order.
TEST(Timeline, EqualsAWalkInIssueOrder) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    Timeline timeline(false, kNone);
    struct Task {
      Stream stream;
      double duration_ns;
      std::vector<TaskId> after;
    };
    std::vector<Task> tasks;
    constexpr Stream kStreams[] = {Stream::kCompute, Stream::kHostToDevice, Stream::kCpu};
    const auto count = static_cast<TaskId>(5 + random() % 40);
    for (TaskId id = 0; id < count; ++id) {
      Task task{.stream = kStreams[random() % 3], .duration_ns = static_cast<double>(random() % 9)};
      for (int i = 0; i < 2 && id > 0; ++i)
        task.after.push_back(static_cast<TaskId>(random() % id));
      timeline.add(task.stream, Use::kNothing, task.duration_ns, task.after);
      tasks.push_back(task);
    }
    std::vector<StepLink> links;
    for (TaskId id = 0; id < count; ++id) {
      if (random() % 3 == 0) {
        links.push_back({.task = id, .previous = static_cast<TaskId>(random() % count)});
      }
    }
    std::vector<double> ends, before;
    std::array<double, kStreamCount> free_ns{};
    double finish_ns = 0, finished_before_ns = 0;
    for (int step = 0; step < 2; ++step) {
      before = ends;
      ends.assign(tasks.size(), 0);
      finished_before_ns = finish_ns;
      for (TaskId id = 0; id < count; ++id) {
        double& free = free_ns[static_cast<std::size_t>(tasks[id].stream)];
        double start_ns = free;
        for (const TaskId other : tasks[id].after) start_ns = std::max(start_ns, ends[other]);
        for (const StepLink& link : links) {
          if (link.task == id && step > 0) start_ns = std::max(start_ns, before[link.previous]);
        }
        ends[id] = free = start_ns + tasks[id].duration_ns;
        finish_ns = std::max(finish_ns, free);
      }
    }
    ASSERT_NEAR(timeline.steady_step_ns(links), finish_ns - finished_before_ns, 1e-6) << round;
  }
}

}  // namespace
}  // namespace elixir::schedule
