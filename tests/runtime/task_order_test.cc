// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// When the CPU device runs tasks, on made-up schedules. Without LibTorch, so that ThreadSanitizer
// sees everything: two tasks that touch the same number without an order between them are a race.
#include "runtime/device/cpu/task_order.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/lane.h"

namespace elixir::runtime {
namespace {

using schedule::Stream;
using schedule::Task;
using schedule::TaskId;

constexpr std::size_t kTasks = 80;
constexpr std::size_t kSteps = 6;

/// Tasks never use them here.
class NoOperations : public HostOperations {
 public:
  void when_ended(std::function<void()> done) override { done(); }
  void wait_idle() override {}
  void copy(void*, const void*, std::int64_t) override {}
  void poison(void*, std::int64_t) override {}
  void adam(const kernels::AdamArrays&,
            const kernels::AdamScalars&,
            const kernels::Clip*,
            std::uint32_t*) override {}
  void sum_squares(const void*, kernels::Element, std::size_t, const kernels::BlockSums&) override {
  }
  void sum_squares_of_parts(const void*,
                            kernels::Element,
                            const std::vector<kernels::SummedPart>&) override {}
  void copy_and_sum_squares(
      void*, const void*, kernels::Element, std::size_t, const kernels::BlockSums&) override {}
  void accumulate(float*,
                  const void*,
                  kernels::Element,
                  std::size_t,
                  kernels::Accumulate,
                  const kernels::BlockSums&) override {}
  void clip(float*, std::size_t, double, kernels::Clip*) override {}
};

/// Calls come later, from another thread, as where updates overlap.
class LateEnds final : public NoOperations {
 public:
  void when_ended(std::function<void()> done) override {
    ends_.push([done = std::move(done)] {
      std::this_thread::yield();
      done();
    });
  }
  void wait_idle() override { ends_.wait_idle(); }

 private:
  Lane ends_{[] {}};
};

std::unique_ptr<HostOperations> operations_for(HostUpdates updates) {
  if (updates == HostUpdates::kOverlap) return std::make_unique<LateEnds>();
  return std::make_unique<NoOperations>();
}

std::vector<CpuOrder> orders() {
  std::vector<CpuOrder> all{{CpuOrder::Kind::kIssued}, {CpuOrder::Kind::kLanes}};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    all.push_back({CpuOrder::Kind::kShuffled, seed});
  }
  return all;
}

std::string name_of(const CpuOrder& order) {
  return "order " + std::to_string(static_cast<int>(order.kind)) + ", seed " +
         std::to_string(order.seed);
}

/// Tasks on random streams, which wait for random tasks before them.
std::vector<Task> random_tasks(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Task> tasks(kTasks);
  for (std::size_t i = 0; i < kTasks; ++i) {
    Task& task = tasks[i];
    task.id = static_cast<TaskId>(i);
    task.stream = static_cast<Stream>(random() % schedule::kStreamCount);
    for (std::size_t wait = random() % 3; i > 0 && wait > 0; --wait) {
      task.after.push_back(static_cast<TaskId>(random() % i));
    }
    for (std::size_t wait = random() % 3; wait > 0; --wait) {
      task.after_previous.push_back(static_cast<TaskId>(random() % kTasks));
    }
  }
  return tasks;
}

/// By task: the tasks of its step that have run before it in every order, when `hasty` has no
/// `after`.
std::vector<std::vector<bool>> always_before(const std::vector<Task>& tasks, TaskId hasty) {
  std::vector<std::vector<bool>> before(tasks.size(), std::vector<bool>(tasks.size()));
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto& after = tasks[i].after;
      // Compute runs when it is issued.
      const bool waits = lane_of(tasks[j].stream) == lane_of(tasks[i].stream) ||
                         tasks[j].stream == Stream::kCompute ||
                         (tasks[i].id != hasty &&
                          std::find(after.begin(), after.end(), tasks[j].id) != after.end());
      if (!waits) continue;
      before[i][j] = true;
      for (std::size_t k = 0; k < j; ++k) before[i][k] = before[i][k] || before[j][k];
    }
  }
  return before;
}

/// Runs steps of tasks of which each writes a number, made of those that it waits for.
class Numbers {
 public:
  Numbers(std::vector<Task> tasks, const CpuOrder& order)
      : tasks_(std::move(tasks)),
        numbers_(kSteps, std::vector<std::uint64_t>(tasks_.size())),
        order_(make_task_order(order, {operations_, operations_for, [] {}})) {}

  /// `hasty` reads the numbers of its step without waiting for them.
  std::vector<std::vector<std::uint64_t>> run(TaskId hasty = -1) {
    std::vector<Task> waiting = tasks_;
    if (hasty >= 0) waiting[static_cast<std::size_t>(hasty)].after.clear();
    std::size_t ended = 0;
    for (std::size_t step = 0; step < kSteps; ++step) {
      order_->begin_step(tasks_.size());
      for (std::size_t i = 0; i < tasks_.size(); ++i) {
        // As a trainer does: part of a step is issued before the step before has ended.
        if (i == tasks_.size() / 2 && step > ended) end_step(ended++);
        order_->issue(waiting[i], [this, step, i](StreamOperations&) { write(step, i); });
        if (tasks_[i].stream == Stream::kCompute) {
          EXPECT_NE(numbers_[step][i], 0U);
        }
      }
    }
    while (ended < kSteps) end_step(ended++);
    return numbers_;
  }

 private:
  void end_step(std::size_t step) {
    const StepTimes times = order_->end_step();
    ASSERT_EQ(times.tasks.size(), tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      EXPECT_NE(numbers_[step][i], 0U) << "task " << i << " of step " << step << " has not run";
      EXPECT_LE(times.begin_ns + times.tasks[i].end_ns, times.end_ns);
    }
  }
  void write(std::size_t step, std::size_t i) {
    std::uint64_t number = 1000 * step + i + 1;
    const auto mix = [&](std::uint64_t other) { number = (number * 6364136223846793005U) ^ other; };
    for (const TaskId id : tasks_[i].after) mix(numbers_[step][static_cast<std::size_t>(id)]);
    if (step > 0) {
      for (const TaskId id : tasks_[i].after_previous) {
        mix(numbers_[step - 1][static_cast<std::size_t>(id)]);
      }
    }
    numbers_[step][i] = number | 1U;
  }

  NoOperations operations_;
  std::vector<Task> tasks_;
  std::vector<std::vector<std::uint64_t>> numbers_;  ///< by step and task
  std::unique_ptr<TaskOrder> order_;
};

TEST(TaskOrder, EveryOrderKeepsStreamsAndDependencies) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto expected = Numbers(random_tasks(seed), {}).run();
    for (const CpuOrder& order : orders()) {
      SCOPED_TRACE(name_of(order));
      ASSERT_TRUE(Numbers(random_tasks(seed), order).run() == expected);
    }
  }
}

/// Random orders would find nothing if they never ran a task too early or too late.
TEST(TaskOrder, ShuffledOrdersNoticeADependencyThatIsMissing) {
  const std::vector<Task> tasks = random_tasks(1);
  const auto expected = Numbers(tasks, {}).run();
  int loose = 0;
  for (const Task& task : tasks) {
    const std::vector<bool> before =
        always_before(tasks, task.id)[static_cast<std::size_t>(task.id)];
    const bool ordered = std::all_of(task.after.begin(), task.after.end(), [&](TaskId id) {
      return before[static_cast<std::size_t>(id)];
    });
    if (!ordered) ++loose;
    // None may notice what is always kept; of the others, one must.
    const std::uint64_t seeds = ordered ? 20 : 400;
    bool noticed = false;
    for (std::uint64_t seed = 0; seed < seeds && !noticed; ++seed) {
      noticed = Numbers(tasks, {CpuOrder::Kind::kShuffled, seed}).run(task.id) != expected;
    }
    EXPECT_EQ(noticed, !ordered) << "task " << task.id;
  }
  EXPECT_GT(loose, 10);
}

TEST(TaskOrder, LanesRunEveryStreamButComputeAndReductionsOnAThreadOfItsOwn) {
  NoOperations caller;
  std::vector<const StreamOperations*> made, overlap;
  const auto order = make_lane_order({caller,
                                      [&](HostUpdates updates) {
                                        auto operations = std::make_unique<NoOperations>();
                                        made.push_back(operations.get());
                                        if (updates == HostUpdates::kOverlap) {
                                          overlap.push_back(operations.get());
                                        }
                                        return operations;
                                      },
                                      [] {}});
  std::vector<Task> tasks(schedule::kStreamCount);
  std::vector<std::thread::id> threads(tasks.size());
  std::vector<const StreamOperations*> operations(tasks.size());
  order->begin_step(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].id = static_cast<TaskId>(i);
    tasks[i].stream = static_cast<Stream>(i);
    order->issue(tasks[i], [&, i](StreamOperations& mine) {
      threads[i] = std::this_thread::get_id();
      operations[i] = &mine;
    });
  }
  EXPECT_EQ(order->end_step().tasks.size(), tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const bool compute = tasks[i].stream == Stream::kCompute;
    EXPECT_EQ(threads[i] == std::this_thread::get_id(), compute);
    EXPECT_EQ(operations[i] == &caller, compute);
    // Reductions run with all other collectives.
    const auto shares = std::count_if(tasks.begin(), tasks.end(), [&](const Task& other) {
      return lane_of(other.stream) == lane_of(tasks[i].stream);
    });
    EXPECT_EQ(std::count(threads.begin(), threads.end(), threads[i]), shares);
    EXPECT_EQ(std::count(operations.begin(), operations.end(), operations[i]), shares);
  }
  EXPECT_NE(lane_of(Stream::kReduce), Stream::kReduce);
  EXPECT_EQ(made.size(), tasks.size() - 2);
  EXPECT_EQ(overlap, std::vector{operations[static_cast<std::size_t>(Stream::kCpu)]});
}

/// Two steps are under way; any task may fail.
TEST(TaskOrder, AFailureBetweenTwoStepsEndsTheNextOne) {
  Task task, waiting;
  task.id = 0;
  task.stream = Stream::kCpu;
  waiting.id = 1;
  waiting.stream = Stream::kCompute;
  waiting.after = {0};
  for (const CpuOrder& order_of : orders()) {
    SCOPED_TRACE(name_of(order_of));
    NoOperations operations;
    const auto order = make_task_order(order_of, {operations, operations_for, [] {}});
    bool ran = false;
    EXPECT_THROW(
        {
          order->begin_step(2);
          order->issue(task, [](StreamOperations&) { throw std::runtime_error("failed"); });
          order->wait_idle();  // all lanes know of it
          order->begin_step(2);
          order->issue(task, [](StreamOperations&) {});
          order->issue(waiting, [&](StreamOperations&) { ran = true; });
          static_cast<void>(order->end_step());
        },
        std::runtime_error);
    EXPECT_FALSE(ran);
    order->abandon_steps();
  }
}

TEST(TaskOrder, AFailureEndsTheStepsUnderWayAndTheNextOnesRun) {
  const std::vector<Task> tasks = random_tasks(3);
  for (const CpuOrder& order_of : orders()) {
    SCOPED_TRACE(name_of(order_of));
    NoOperations operations;
    const auto order = make_task_order(order_of, {operations, operations_for, [] {}});
    for (std::size_t failing = 0; failing < tasks.size(); failing += 7) {
      std::vector<std::vector<int>> runs(2, std::vector<int>(tasks.size()));
      try {
        for (std::size_t step = 0; step < 2; ++step) {
          order->begin_step(tasks.size());
          for (std::size_t i = 0; i < tasks.size(); ++i) {
            order->issue(tasks[i], [&, step, i](StreamOperations&) {
              if (step == 0 && i == failing) throw std::runtime_error("failed");
              ++runs[step][i];
            });
          }
        }
        static_cast<void>(order->end_step());
        ADD_FAILURE() << "no error";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string(error.what()), "failed");
      }
      order->abandon_steps();
      // What waits for the failed task has not run, and no task has run twice.
      for (const Task& task : tasks) {
        const auto id = static_cast<std::size_t>(task.id);
        EXPECT_LE(runs[0][id], 1);
        const auto waits = std::count(task.after.begin(), task.after.end(), TaskId(failing));
        if (waits > 0) {
          EXPECT_EQ(runs[0][id], 0);
        }
      }
      EXPECT_EQ(runs[0][failing], 0);
      // Nothing of the failure is left.
      int ran = 0;
      order->begin_step(1);
      Task alone;
      alone.id = 0;
      alone.stream = Stream::kCpu;
      order->issue(alone, [&](StreamOperations&) { ++ran; });
      order->wait_for(0);
      EXPECT_EQ(ran, 1);
      static_cast<void>(order->end_step());
    }
  }
}

/// Moments that the next step makes late run on while this one ends.
TEST(TaskOrder, AStepEndsWithoutWhatTheNextOneHasGivenToItsLanes) {
  Task task;
  task.id = 0;
  task.stream = Stream::kCpu;
  NoOperations operations;
  const auto order = make_task_order({CpuOrder::Kind::kLanes}, {operations, operations_for, [] {}});
  std::promise<void> ended;
  bool ran = false;
  order->begin_step(1);
  order->issue(task, [&](StreamOperations&) { ran = true; });
  order->begin_step(1);
  order->issue(task, [&](StreamOperations&) { ended.get_future().wait(); });
  static_cast<void>(order->end_step());
  EXPECT_TRUE(ran);
  ended.set_value();
  static_cast<void>(order->end_step());
}

/// A lane that lags behind: its job waits for a task of a step that ended before the newest one
/// began.
TEST(TaskOrder, AJobMayWaitForAStepThatEndedTwoBegunStepsAgo) {
  Task copy, slow, moments;
  copy.id = 0;
  copy.stream = Stream::kHostToDevice;
  slow.id = 1;
  slow.stream = Stream::kCpu;
  moments.id = 2;
  moments.stream = Stream::kCpu;
  moments.after_previous = {0};
  NoOperations operations;
  const auto order = make_task_order({CpuOrder::Kind::kLanes}, {operations, operations_for, [] {}});
  const auto nothing = [](StreamOperations&) {};
  std::promise<void> released;
  bool made = false;
  order->begin_step(3);
  order->issue(copy, nothing);
  order->begin_step(3);
  order->issue(slow, [&](StreamOperations&) { released.get_future().wait(); });
  order->issue(moments, [&](StreamOperations&) { made = true; });
  static_cast<void>(order->end_step());
  order->begin_step(3);
  released.set_value();
  static_cast<void>(order->end_step());
  EXPECT_TRUE(made);
  order->issue(copy, nothing);
  static_cast<void>(order->end_step());
}

TEST(TaskOrder, EndsWithStepsUnderWay) {
  const std::vector<Task> tasks = random_tasks(4);
  for (const CpuOrder& order_of : orders()) {
    SCOPED_TRACE(name_of(order_of));
    std::vector<int> runs(tasks.size());
    NoOperations operations;
    const auto order = make_task_order(order_of, {operations, operations_for, [] {}});
    order->begin_step(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      order->issue(tasks[i], [&, i](StreamOperations&) { ++runs[i]; });
    }
  }
}

TEST(TaskOrder, ASeedGivesTheSameOrderAgain) {
  const std::vector<Task> tasks = random_tasks(5);
  const auto order_of = [&](std::uint64_t seed) {
    std::vector<std::size_t> seen;
    NoOperations operations;
    const auto order = make_shuffled_order(operations, seed);
    for (std::size_t step = 0; step < 2; ++step) {
      order->begin_step(tasks.size());
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        order->issue(tasks[i],
                     [&, step, i](StreamOperations&) { seen.push_back(step * tasks.size() + i); });
      }
    }
    for (std::size_t step = 0; step < 2; ++step) static_cast<void>(order->end_step());
    return seen;
  };
  std::set<std::vector<std::size_t>> all;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const std::vector<std::size_t> seen = order_of(seed);
    EXPECT_EQ(seen.size(), 2 * tasks.size());
    EXPECT_EQ(order_of(seed), seen);
    all.insert(seen);
  }
  EXPECT_GT(all.size(), 12U);
}

}  // namespace
}  // namespace elixir::runtime
