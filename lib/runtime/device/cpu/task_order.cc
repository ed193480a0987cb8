// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The order in which tasks are issued.
#include "runtime/device/cpu/task_order.h"

#include <deque>
#include <utility>

#include "core/error.h"
#include "runtime/device/host_clock.h"

namespace elixir::runtime {
namespace {

class IssuedOrder final : public TaskOrder {
 public:
  explicit IssuedOrder(StreamOperations& operations) : operations_(operations) {}

  void begin_step(std::size_t tasks) override {
    StepTimes& step = under_way_.emplace_back();
    step.tasks.assign(tasks, {});
    step.begin_ns = step.end_ns = clock_.now_ns();
  }
  void issue(const schedule::Task& task, Body body) override {
    StepTimes& step = under_way_.back();
    const double start_ns = clock_.now_ns();
    body(operations_);
    step.end_ns = clock_.now_ns();
    step.tasks.at(task.id) = {start_ns - step.begin_ns, step.end_ns - step.begin_ns};
  }
  void wait_for(schedule::TaskId /*task*/) override {}
  void wait_idle() override {}
  StepTimes end_step() override {
    StepTimes times = std::move(under_way_.front());
    under_way_.pop_front();
    return times;
  }
  void abandon_steps() noexcept override { under_way_.clear(); }

 private:
  StreamOperations& operations_;
  HostClock clock_;
  std::deque<StepTimes> under_way_;  ///< their tasks have all run
};

}  // namespace

std::unique_ptr<TaskOrder> make_issued_order(StreamOperations& operations) {
  return std::make_unique<IssuedOrder>(operations);
}

std::unique_ptr<TaskOrder> make_task_order(const CpuOrder& order, const TaskOrderParts& parts) {
  switch (order.kind) {
    case CpuOrder::Kind::kIssued:
      return make_issued_order(parts.caller);
    case CpuOrder::Kind::kLanes:
      return make_lane_order(parts);
    case CpuOrder::Kind::kShuffled:
      return make_shuffled_order(parts.caller, order.seed);
  }
  throw Error(ErrorCode::kInternal, "an order of tasks that the CPU device does not know");
}

}  // namespace elixir::runtime
