// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// When tasks run, given what each of them takes. Steps follow each other without a pause: a task of
// the next step starts as soon as its stream and the tasks that it waits for allow.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/simulate.h"
#include "schedule/task_sink.h"

namespace elixir::schedule {

class Timeline {
 public:
  /// `serial`: only one task runs at a time, in issue order.
  explicit Timeline(bool serial) : serial_(serial) {}

  /// The next task of the step, in issue order. `after` are tasks of this step.
  void add(Stream stream, double duration_ns, std::span<const TaskId> after);

  /// Runs steps until two in a row take the same time, and returns that time: from the end of the
  /// last task of a step to that of the next. `links` ascend by task.
  double steady_step_ns(std::span<const StepLink> links);
  /// By task, of the last of these steps, from the end of the compute stream's part of the step
  /// before.
  [[nodiscard]] std::vector<TaskTime> times() const;

 private:
  struct Entry {
    Stream stream;
    double duration_ns;
    std::uint32_t after_begin;  ///< in after_
  };
  void run_step(std::span<const StepLink> links);

  bool serial_;
  std::vector<Entry> tasks_;
  std::vector<TaskId> after_;
  std::vector<TaskTime> times_, previous_;
  std::array<double, kStreamCount> free_ns_{};  ///< when each stream has run what it was given
  double finish_ns_ = 0, origin_ns_ = 0;
};

}  // namespace elixir::schedule
