// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// When tasks run, given what each of them takes alone. Steps follow each other without a pause: a
// task of the next step starts as soon as its stream and the tasks that it waits for allow. While
// tasks share the host's memory or a link, each of them progresses more slowly, as measured; loads
// of state wait while anything else is copied to the device. Where matrix products fill much of the
// step, they take longer than one by one, as measured.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hardware/operator_cost.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"
#include "schedule/task_sink.h"

namespace elixir::schedule {

class Timeline {
 public:
  /// What a task uses besides its stream.
  enum class Use : std::uint8_t {
    kNothing,
    kToDevice,
    kStateToDevice,  ///< waits while anything goes kToDevice
    kToHost,
    kHostMemory,        ///< by the cores: a whole pass of AdamW, or anything but a pass
    kUpdateParameters,  ///< by the cores: a pass of AdamW without moments
    kUpdateMoments,     ///< by the cores: moments alone
    kCompute,
    kCollective,
    kNccl,
    kSums  ///< kernels on the collective stream
  };
  static constexpr std::size_t kUses = 11;

  /// `serial`: only one task runs at a time, in issue order.
  Timeline(bool serial,
           const hardware::HostContentions& contentions,
           hardware::SustainedClock clock = {},
           const hardware::GpuContention& gpu_contention = {})
      : serial_(serial),
        contentions_(contentions),
        gpu_contention_(gpu_contention),
        clock_(std::move(clock)) {}

  /// The next task of the step, in issue order. `after` are tasks of this step. `product_ns` of its
  /// duration are matrix products.
  void add(Stream stream,
           Use use,
           double duration_ns,
           std::span<const TaskId> after,
           double product_ns = 0);
  /// What the task that was added last does afterwards.
  void then(Use use, double duration_ns);

  /// The time from the end of one step to the end of the next, in a long run. `links` ascend by
  /// task.
  double steady_step_ns(std::span<const StepLink> links);
  /// By task, of one of these steps, from the end of the compute stream's part of the step before.
  [[nodiscard]] const std::vector<TaskTime>& times() const { return times_; }
  /// By stream: how long its tasks take in that step, beside the others.
  [[nodiscard]] std::array<double, kStreamCount> busy_ns() const;

 private:
  struct Entry {
    Stream stream;
    Use use;
    double duration_ns;
    double product_ns;
    std::uint32_t after_begin;  ///< in after_
    Use then_use = Use::kNothing;
    double then_ns = 0;
  };
  double run_ns(std::span<const StepLink> links);
  double serial_step_ns();

  bool serial_;
  hardware::HostContentions contentions_;
  hardware::GpuContention gpu_contention_;
  hardware::SustainedClock clock_;
  std::vector<Entry> tasks_;
  std::vector<TaskId> after_;
  std::vector<TaskTime> times_;

  friend class SteadyRun;
};

}  // namespace elixir::schedule
