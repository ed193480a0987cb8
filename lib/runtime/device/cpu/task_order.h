// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// When and on which thread the CPU device runs the tasks of its steps. Without LibTorch, so that
// ThreadSanitizer sees all of it. cpu_order.h says what each order is for.
// The functions are named as Device's (device.h) and put the same duties on the caller.

#include <cstddef>
#include <functional>
#include <memory>

#include "runtime/cpu_order.h"
#include "runtime/device/step_times.h"
#include "runtime/device/stream_operations.h"
#include "runtime/device/task_body.h"
#include "runtime/task_hook.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

class TaskOrder {
 public:
  using Body = TaskBody;

  virtual ~TaskOrder() = default;
  virtual void begin_step(std::size_t tasks) = 0;
  virtual void issue(const schedule::Task& task, Body body) = 0;
  virtual void wait_for(schedule::TaskId task) = 0;
  /// Waits until every task issued so far has run.
  virtual void wait_idle() = 0;
  [[nodiscard]] virtual StepTimes end_step() = 0;
  virtual void abandon_steps() noexcept = 0;
};

/// What tasks run with. StreamOperations are not thread-safe, so every lane gets its own.
struct TaskOrderParts {
  HostOperations& caller;  ///< of the calling thread; must outlive the order
  std::function<std::unique_ptr<HostOperations>(HostUpdates)> make_operations;  ///< of a lane
  std::function<void()> start_lane;  ///< runs on each lane's thread, before any task
  TaskHook before_task;              ///< may be empty; for lanes
};

/// The stream in whose order a stream's tasks run. On CPUs one connection leads to another rank, so
/// reductions queue with all other collectives.
[[nodiscard]] constexpr schedule::Stream lane_of(schedule::Stream stream) {
  return stream == schedule::Stream::kReduce ? schedule::Stream::kCollective : stream;
}

[[nodiscard]] std::unique_ptr<TaskOrder> make_task_order(const CpuOrder& order,
                                                         const TaskOrderParts& parts);
// The orders by themselves, for make_task_order().
[[nodiscard]] std::unique_ptr<TaskOrder> make_issued_order(StreamOperations& operations);
[[nodiscard]] std::unique_ptr<TaskOrder> make_lane_order(const TaskOrderParts& parts);
[[nodiscard]] std::unique_ptr<TaskOrder> make_shuffled_order(StreamOperations& operations,
                                                             std::uint64_t seed);

}  // namespace elixir::runtime
