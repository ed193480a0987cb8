// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What ranks know of each other without an exchange: recorded tasks and signs of life. Without
// LibTorch.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/ranks/heartbeat.h"
#include "runtime/ranks/task_recorder.h"

namespace elixir::runtime {
namespace {

using schedule::Stream;
using schedule::Task;
using schedule::TaskKind;
using std::chrono::milliseconds;

Task task(int id, TaskKind kind, Stream stream, int chunk = -1) {
  Task made;
  made.id = id;
  made.kind = kind;
  made.stream = stream;
  made.chunk = chunk;
  return made;
}

const Task kCompute = task(4, TaskKind::kCompute, Stream::kCompute);
const Task kReduce = task(5, TaskKind::kReduce, Stream::kReduce, 3);

/// A task of step 1: then step 3 is not one of the first.
void begin_training(TaskRecorder& recorder) {
  recorder.begin(1, kReduce);
  recorder.end(kReduce);
}

TEST(TaskRecorder, SaysWhatComputesBeforeWhatWaits) {
  TaskRecorder recorder;
  EXPECT_EQ(text_of(recorder.position()), "before its first step");
  recorder.begin(7, kReduce);
  EXPECT_EQ(text_of(recorder.position()), "in step 7, task 5 (reduce of chunk 3)");
  EXPECT_EQ(recorder.position().waits, 1);
  recorder.begin(7, kCompute);
  EXPECT_EQ(text_of(recorder.position()), "in step 7, task 4 (compute)");
  recorder.end(kCompute);
  recorder.end(kReduce);
  EXPECT_EQ(text_of(recorder.position()), "in step 7, between tasks (2 done)");
}

TEST(TaskRecorder, KeepsTheLastTasksAndThoseThatRun) {
  TaskRecorder recorder;
  for (int i = 0; i < 300; ++i) {
    const Task each = task(i, TaskKind::kCompute, Stream::kCompute);
    recorder.begin(2, each);
    recorder.end(each);
  }
  recorder.begin(2, kReduce);
  const std::vector<TaskRecord> records = recorder.records();
  ASSERT_EQ(records.size(), TaskRecorder::kKept + 1);
  EXPECT_EQ(records.front().task, 300 - static_cast<int>(TaskRecorder::kKept));
  EXPECT_TRUE(records[TaskRecorder::kKept - 1].end_ns.has_value());
  EXPECT_EQ(records.back().task, 5);
  EXPECT_EQ(records.back().chunk, 3);
  EXPECT_FALSE(records.back().end_ns.has_value());
  EXPECT_EQ(recorder.position().tasks_ended, 300);
}

TEST(TaskRecorder, TakesATaskForStuckAfterItsTimeUnlessItWaits) {
  TaskRecorder recorder(milliseconds(20));
  begin_training(recorder);
  recorder.begin(3, kReduce);
  std::this_thread::sleep_for(milliseconds(40));
  EXPECT_FALSE(recorder.position().is_stuck());
  recorder.begin(3, kCompute);
  EXPECT_FALSE(recorder.position().is_stuck());
  std::this_thread::sleep_for(milliseconds(40));
  EXPECT_TRUE(recorder.position().is_stuck());
  recorder.set_predicted_step(1e9);
  EXPECT_FALSE(recorder.position().is_stuck());
}

TEST(TaskRecorder, LetsTheFirstStepsTakeLonger) {
  TaskRecorder recorder(milliseconds(0));
  recorder.begin(200, kCompute);  // of a run that goes on
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_FALSE(recorder.position().is_stuck());
}

/// Ranks in this process.
class Signs : public testing::Test {
 protected:
  static constexpr int kWorld = 3;
  void SetUp() override {
    for (int a = 0; a < kWorld; ++a) {
      for (int b = a + 1; b < kWorld; ++b) {
        int pair[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        sockets[a][b] = pair[0];
        sockets[b][a] = pair[1];
      }
    }
  }
  void start(int rank, milliseconds patience = kRankPatience) {
    beats[rank] = std::make_unique<Heartbeat>(sockets[rank], &recorders[rank], patience);
  }
  std::string await_lost(int rank) {
    for (int look = 0; look < 300; ++look) {
      if (const auto lost = beats[rank]->lost()) return *lost;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return "nothing";
  }

  std::vector<std::vector<int>> sockets{kWorld, std::vector<int>(kWorld, -1)};
  std::vector<TaskRecorder> recorders{kWorld};
  std::vector<std::unique_ptr<Heartbeat>> beats{kWorld};
};

TEST_F(Signs, NobodyIsLostWhileAllBeat) {
  for (int rank = 0; rank < kWorld; ++rank) start(rank, milliseconds(400));
  std::this_thread::sleep_for(milliseconds(600));
  for (const auto& beat : beats) EXPECT_EQ(beat->lost(), std::nullopt);
}

TEST_F(Signs, OneThatEndsIsNamedWithWhereItWas) {
  recorders[1].begin(12, kReduce);
  recorders[0].begin(12, kCompute);
  for (int rank = 0; rank < kWorld; ++rank) start(rank);
  std::this_thread::sleep_for(milliseconds(250));
  beats[1].reset();
  const std::string lost = await_lost(0);
  EXPECT_EQ(lost.find("rank 0 lost rank 1 of 3: it has ended; it was on "), 0U) << lost;
  EXPECT_NE(
      lost.find(
          ", in step 12, task 5 (reduce of chunk 3); rank 0 was in step 12, task 4 (compute)"),
      std::string::npos)
      << lost;
}

TEST_F(Signs, OneThatIsSilentIsNamed) {
  start(0, milliseconds(300));
  start(1, milliseconds(10'000));
  const std::string lost = await_lost(0);
  EXPECT_EQ(lost.find("rank 0 lost rank 2 of 3: no sign of life for 0 s"), 0U) << lost;
}

TEST_F(Signs, OneWhoseTaskRunsForTooLongIsNamedThoughItBeats) {
  TaskRecorder impatient(milliseconds(50));
  for (TaskRecorder* recorder : {&recorders[0], &recorders[1], &impatient})
    begin_training(*recorder);
  for (int rank = 0; rank < 2; ++rank) start(rank);
  impatient.begin(5, kCompute);
  beats[2] = std::make_unique<Heartbeat>(sockets[2], &impatient);
  const std::string lost = await_lost(0);
  EXPECT_EQ(lost.find("rank 0 lost rank 2 of 3: no progress for 0 s; it was on "), 0U) << lost;
  beats[2].reset();
}

TEST_F(Signs, OneWhoseTaskRunsForLongIsNotNamedWhileAnotherIsBehind) {
  TaskRecorder impatient(milliseconds(50));
  for (int rank = 0; rank < 2; ++rank) start(rank);
  begin_training(impatient);
  impatient.begin(5, kCompute);
  beats[2] = std::make_unique<Heartbeat>(sockets[2], &impatient);
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_EQ(beats[0]->lost(), std::nullopt);
  beats[2].reset();
}

TEST_F(Signs, WhoEndsBecauseOfAnotherNamesThatOne) {
  for (int rank = 0; rank < kWorld; ++rank) start(rank);
  EXPECT_EQ(beats[0]->loss_of(1, "it has ended").find("rank 0 lost rank 1 of 3: it has ended"), 0U);
  beats[0].reset();  // rank 2 sees this one end, too
  const std::string lost = beats[2]->loss_of(0, "it has ended");
  EXPECT_EQ(lost.find("rank 2 lost rank 1 of 3: it has ended, says rank 0"), 0U) << lost;
  const std::string accused = await_lost(1);
  EXPECT_EQ(accused.find("rank 0 took this one, rank 1 of 3, for lost: it has ended"), 0U)
      << accused;
}

TEST_F(Signs, OneThatCannotEndByItselfIsEndedWhenOthersHaveGivenItUp) {
  for (int rank = 0; rank < kWorld; ++rank) start(rank);
  std::promise<std::string> overdue;
  beats[2]->when_overdue([&](const std::string& loss) { overdue.set_value(loss); },
                         milliseconds(200));
  std::future<std::string> loss = overdue.get_future();
  EXPECT_EQ(loss.wait_for(milliseconds(500)), std::future_status::timeout) << "nobody is lost";
  static_cast<void>(beats[0]->loss_of(2, "no progress for 10 s"));
  ASSERT_EQ(loss.wait_for(milliseconds(3000)), std::future_status::ready);
  EXPECT_EQ(loss.get().find("rank 0 took this one, rank 2 of 3, for lost: no progress for 10 s"),
            0U);
}

/// As where a GPU waits for a rank that is gone, and NCCL with it.
TEST_F(Signs, OneThatCannotEndByItselfIsEndedWhenItHasGivenUpAnother) {
  for (int rank = 0; rank < kWorld; ++rank) start(rank);
  std::promise<std::string> overdue;
  beats[0]->when_overdue([&](const std::string& loss) { overdue.set_value(loss); },
                         milliseconds(200));
  std::future<std::string> loss = overdue.get_future();
  beats[1].reset();
  const std::string lost = await_lost(0);
  EXPECT_EQ(lost.find("rank 0 lost rank 1 of 3: it has ended"), 0U) << lost;
  EXPECT_EQ(loss.wait_for(milliseconds(500)), std::future_status::timeout)
      << "nothing waits for it";
  beats[0]->tell_loss();
  ASSERT_EQ(loss.wait_for(milliseconds(3000)), std::future_status::ready);
  EXPECT_EQ(loss.get().find("rank 0 lost rank 1 of 3: it has ended"), 0U);
}

TEST_F(Signs, WhatARankSaysBeforeItFailsIsTold) {
  for (int rank = 0; rank < kWorld; ++rank) start(rank);
  beats[2]->say_failure("EX0701: no memory");
  beats[2].reset();
  const std::string lost = beats[0]->loss_of(2, "it has ended");
  EXPECT_EQ(lost.find("rank 0 lost rank 2 of 3: it failed: EX0701: no memory"), 0U) << lost;
}

}  // namespace
}  // namespace elixir::runtime
