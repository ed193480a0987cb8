// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The threads of a device: a lane runs jobs in order, and a board tells lanes the progress of
// others. Without LibTorch, so that ThreadSanitizer sees everything.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/lane.h"
#include "runtime/device/task_board.h"

namespace elixir::runtime {
namespace {

TEST(Lane, RunsJobsInOrderOnOneThreadAfterItsStart) {
  std::vector<int> seen;  // not locked: the lane writes, wait_idle() synchronises
  std::thread::id started;
  Lane lane([&] { started = std::this_thread::get_id(); });
  for (int round = 0; round < 50; ++round) {
    for (int job = 0; job < 20; ++job) {
      lane.push([&, job] {
        EXPECT_EQ(std::this_thread::get_id(), started);
        seen.push_back(job);
      });
    }
    lane.wait_idle();
    ASSERT_EQ(seen.size(), 20U);
    for (int job = 0; job < 20; ++job) EXPECT_EQ(seen[static_cast<std::size_t>(job)], job);
    seen.clear();
  }
  EXPECT_NE(started, std::this_thread::get_id());
}

TEST(Lane, FinishesWhatWasPushedBeforeItEnds) {
  int done = 0;
  {
    Lane lane([] {});
    for (int job = 0; job < 100; ++job) lane.push([&] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

TEST(Lane, TakesJobsFromSeveralThreads) {
  constexpr int kPushers = 4, kJobs = 100;
  int done = 0;
  Lane lane([] {});
  std::vector<std::thread> pushers;
  for (int pusher = 0; pusher < kPushers; ++pusher) {
    pushers.emplace_back([&] {
      for (int job = 0; job < kJobs; ++job) lane.push([&] { ++done; });
    });
  }
  for (std::thread& pusher : pushers) pusher.join();
  lane.wait_idle();
  EXPECT_EQ(done, kPushers * kJobs);
}

TEST(Lane, WaitsForAJobAndNotForThoseAfterIt) {
  Lane lane([] {});
  std::promise<void> released;
  int done = 0;
  auto held = std::make_shared<int>(1);
  const std::uint64_t first = lane.push([&done, held] { done = *held; });
  const std::uint64_t second = lane.push([&] { released.get_future().wait(); });
  EXPECT_LT(first, second);
  lane.wait_for(first);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(held.use_count(), 1) << "the job is gone";
  released.set_value();
  lane.wait_for(second);
  lane.wait_for(first);  // long done
}

/// As the CUDA device does in each step: every lane waits for the task before its own, which
/// another lane settles. The next task may read what a task wrote.
TEST(TaskBoard, CarriesWhatATaskWroteFromLaneToLane) {
  constexpr std::size_t kLanes = 4, kTasks = 60, kSteps = 5;
  TaskBoard board;
  std::vector<std::unique_ptr<Lane>> lanes;
  for (std::size_t i = 0; i < kLanes; ++i) lanes.push_back(std::make_unique<Lane>([] {}));
  std::vector<int> written(kTasks, 0);
  for (std::size_t step = 1; step <= kSteps; ++step) {
    board.reset(kTasks);
    for (std::size_t task = 0; task < kTasks; ++task) {
      lanes[task % kLanes]->push([&, task] {
        if (task > 0) board.wait(task - 1);
        written[task] += 1 + (task > 0 ? written[task - 1] : 0);
        board.settle(task);
      });
    }
    board.wait(kTasks - 1);
    for (const auto& lane : lanes) lane->wait_idle();
    EXPECT_FALSE(board.failed());
  }
  EXPECT_EQ(written[0], static_cast<int>(kSteps));
  // After step s: written[1] = written[1] + 1 + s, from zero.
  EXPECT_EQ(written[1], 20);
}

TEST(TaskBoard, KeepsTheFirstFailureAndWakesEveryWaiter) {
  TaskBoard board;
  board.reset(3);
  std::atomic<int> abandoned = 0;
  std::vector<std::thread> waiters;
  for (std::size_t task = 0; task < 3; ++task) {
    waiters.emplace_back([&, task] {
      try {
        board.wait(task);
      } catch (const TaskBoard::Abandoned&) {
        ++abandoned;
      }
    });
  }
  board.fail(std::make_exception_ptr(std::runtime_error("first")));
  board.fail(std::make_exception_ptr(std::runtime_error("second")));
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(abandoned, 3);
  ASSERT_TRUE(board.failed());
  try {
    std::rethrow_exception(board.failure());
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "first");
  }
  board.reset(1);
  EXPECT_FALSE(board.failed());
  EXPECT_EQ(board.failure(), nullptr);
}

}  // namespace
}  // namespace elixir::runtime
