// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The CPU device's lanes. The calling thread runs compute tasks, and one thread for each other
// stream runs its tasks, as on the CUDA device; updates of the cpu stream overlap, as there. There
// is no GPU to wait for, so a task that its board calls settled has finished.
#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "runtime/device/cpu/task_order.h"
#include "runtime/device/host_clock.h"
#include "runtime/device/lane.h"
#include "runtime/device/ordered_times.h"
#include "runtime/device/steps_under_way.h"

namespace elixir::runtime {
namespace {

/// A step between begin_step() and end_step().
struct HostLaneStep : LaneStep {
  StepTimes times;  ///< `tasks` is written by lanes
};

/// The thread of a stream, with its own operations.
struct HostLane {
  HostLane(const TaskOrderParts& parts, HostUpdates updates)
      : operations(parts.make_operations(updates)), thread(parts.start_lane) {}
  std::unique_ptr<HostOperations> operations;
  Lane thread;
};

class LaneOrder final : public TaskOrder {
 public:
  explicit LaneOrder(const TaskOrderParts& parts)
      : caller_(parts.caller), before_task_(parts.before_task) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const auto stream = static_cast<schedule::Stream>(i);
      const bool has_thread = stream != schedule::Stream::kCompute && lane_of(stream) == stream;
      if (!has_thread) continue;
      lanes_[i] = std::make_unique<HostLane>(
          parts, stream == schedule::Stream::kCpu ? HostUpdates::kOverlap : HostUpdates::kOneByOne);
    }
  }
  ~LaneOrder() override { LaneOrder::abandon_steps(); }
  LaneOrder(const LaneOrder&) = delete;
  LaneOrder& operator=(const LaneOrder&) = delete;

  void begin_step(std::size_t tasks) override {
    StepTimes& times = steps_.begin(tasks).times;
    times.tasks.assign(tasks, {});
    times.begin_ns = times.end_ns = clock_.now_ns();
  }

  void issue(const schedule::Task& task, Body body) override {
    steps_.add(task);
    HostLane* const lane = find(task.stream);
    auto job = [this,
                &task,
                &step = steps_.newest(),
                before = steps_.before(),
                lane,
                body = std::move(body)]() mutable noexcept {
      const auto await = [](HostLaneStep& other_step, schedule::TaskId other) {
        other_step.board.wait(static_cast<std::size_t>(other));
      };
      steps_.run(task, step, before, await, [&] {
        if (before_task_) before_task_(task, nullptr);
        HostOperations& operations = lane == nullptr ? caller_ : *lane->operations;
        OrderedTimes& ordered = ordered_[static_cast<std::size_t>(lane_of(task.stream))];
        const double ready_ns = clock_.now_ns();
        body(operations);
        operations.when_ended([this, &task, &step, &ordered, ready_ns] {
          const schedule::TaskTime ran = ordered.end(ready_ns, clock_.now_ns());
          step.times.tasks[task.id] = {ran.start_ns - step.times.begin_ns,
                                       ran.end_ns - step.times.begin_ns};
          steps_.settle(step, task);
        });
      });
    };
    if (lane != nullptr) return steps_.push(task.stream, lane->thread, std::move(job));
    job();
    steps_.rethrow_failures();
  }

  void wait_for(schedule::TaskId task) override {
    try {
      steps_.newest().board.wait(static_cast<std::size_t>(task));
    } catch (const TaskBoard::Abandoned&) {
      steps_.rethrow_failures();
    }
  }
  void wait_idle() override {
    for (const std::unique_ptr<HostLane>& lane : lanes_) {
      if (!lane) continue;
      lane->thread.wait_idle();
      lane->operations->wait_idle();
    }
  }

  StepTimes end_step() override {
    require(steps_.count() > 0, "no step is under way");
    steps_.wait_for_oldest([this](schedule::Stream stream) { return &find(stream)->thread; });
    steps_.rethrow_failures();
    StepTimes times = std::move(steps_.oldest().times);
    for (const schedule::TaskTime& task : times.tasks) {
      times.end_ns = std::max(times.end_ns, times.begin_ns + task.end_ns);
    }
    steps_.end_oldest();
    return times;
  }
  void abandon_steps() noexcept override {
    steps_.fail_all();
    wait_idle();
    steps_.forget();
  }

 private:
  /// nullptr: the calling thread runs the stream's tasks.
  [[nodiscard]] HostLane* find(schedule::Stream stream) const {
    return lanes_[static_cast<std::size_t>(lane_of(stream))].get();
  }

  HostOperations& caller_;
  std::array<OrderedTimes, schedule::kStreamCount>
      ordered_;  ///< by stream in whose order tasks run
  TaskHook before_task_;
  HostClock clock_;
  StepsUnderWay<HostLaneStep> steps_;
  std::array<std::unique_ptr<HostLane>, schedule::kStreamCount> lanes_;  ///< some are nullptr
};

}  // namespace

std::unique_ptr<TaskOrder> make_lane_order(const TaskOrderParts& parts) {
  return std::make_unique<LaneOrder>(parts);
}

}  // namespace elixir::runtime
