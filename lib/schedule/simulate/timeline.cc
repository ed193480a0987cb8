// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/simulate/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"

namespace elixir::schedule {

/// Runs the tasks of three steps in the order of time, until the second has ended. The third is
/// there because what the second does last runs beside what the next step does first.
class SteadyRun {
 public:
  SteadyRun(const Timeline& timeline, std::span<const StepLink> links)
      : timeline_(timeline), links_(links), link_begin_(timeline.tasks_.size() + 1) {
    for (std::size_t i = 0; i < timeline.tasks_.size(); ++i) {
      lanes_[static_cast<std::size_t>(timeline.tasks_[i].stream)].tasks.push_back(
          static_cast<TaskId>(i));
    }
    for (Step& step : steps_) step.times.assign(timeline.tasks_.size(), {0, kNotYet});
    std::size_t link = 0;
    for (std::size_t i = 0; i < link_begin_.size(); ++i) {
      while (link < links.size() && links[link].task < static_cast<TaskId>(i)) ++link;
      link_begin_[i] = static_cast<std::uint32_t>(link);
    }
  }

  /// The time from the end of the first step to the end of the second. Since a step waits for the
  /// updates of the one before, nothing piles up from step to step: later ones take as long.
  double steady_ns() {
    for (;;) {
      while (start_what_can()) {
      }
      if (finish_ns_.size() == 2) return finish_ns_[1] - finish_ns_[0];
      advance();
    }
  }

  /// The times of the second step's tasks.
  [[nodiscard]] std::vector<TaskTime> times() const {
    double origin_ns = 0;
    for (const TaskId task : lanes_[static_cast<std::size_t>(Stream::kCompute)].tasks) {
      origin_ns = std::max(origin_ns, steps_[0].times[task].end_ns);
    }
    std::vector<TaskTime> times = steps_[1].times;
    for (TaskTime& time : times) {
      time.start_ns -= origin_ns;
      time.end_ns -= origin_ns;
    }
    return times;
  }

 private:
  static constexpr std::size_t kSteps = 3;
  static constexpr double kNotYet = std::numeric_limits<double>::infinity();

  struct Step {
    std::vector<TaskTime> times;
    std::size_t ended = 0;
  };
  /// A stream: the task that runs, or else the one that is next.
  struct Lane {
    std::vector<TaskId> tasks;
    std::size_t step = 0, position = 0;
    std::size_t waits_for = 0;  ///< of the task's dependencies: the first that may not have ended
    bool runs = false;
    bool does_then = false;  ///< the second part of its task
    double remaining_ns = 0;
  };

  /// Starts tasks; ends those that take no time. Whether any ended, so that others may start.
  bool start_what_can() {
    bool ended = false;
    for (Lane& lane : lanes_) {
      while (!lane.runs && ready(lane)) {
        const TaskId task = lane.tasks[lane.position];
        Step& step = steps_[lane.step];
        step.times[task].start_ns = now_ns_;
        lane.remaining_ns = timeline_.tasks_[task].duration_ns;
        lane.runs = lane.remaining_ns > 0 || goes_on(lane);
        if (lane.runs) break;
        end(lane);
        ended = true;
      }
    }
    return ended;
  }

  /// Whether the lane's next task may start.
  bool ready(Lane& lane) {
    if (lane.tasks.empty() || lane.step >= kSteps) return false;
    const TaskId task = lane.tasks[lane.position];
    const std::size_t after_begin = timeline_.tasks_[task].after_begin;
    const std::size_t after_end = static_cast<std::size_t>(task) + 1 < timeline_.tasks_.size()
                                      ? timeline_.tasks_[task + 1].after_begin
                                      : timeline_.after_.size();
    const std::size_t waits = after_end - after_begin;
    const std::size_t links = lane.step > 0 ? link_begin_[task + 1] - link_begin_[task] : 0;
    for (; lane.waits_for < waits + links; ++lane.waits_for) {
      const bool here = lane.waits_for < waits;
      const TaskId other = here ? timeline_.after_[after_begin + lane.waits_for]
                                : links_[link_begin_[task] + lane.waits_for - waits].previous;
      const Step& step = steps_[here ? lane.step : lane.step - 1];
      if (step.times[other].end_ns == kNotYet) return false;
    }
    return true;
  }

  /// Whether a task whose first part has ended has a second one.
  [[nodiscard]] bool goes_on(Lane& lane) const {
    const double then_ns = timeline_.tasks_[lane.tasks[lane.position]].then_ns;
    if (lane.does_then || then_ns <= 0) return false;
    lane.does_then = true;
    lane.remaining_ns = then_ns;
    return true;
  }

  void end(Lane& lane) {
    Step& step = steps_[lane.step];
    step.times[lane.tasks[lane.position]].end_ns = now_ns_;
    if (++step.ended == timeline_.tasks_.size()) finish_ns_.push_back(now_ns_);
    lane.runs = lane.does_then = false;
    lane.waits_for = 0;
    if (++lane.position == lane.tasks.size()) {
      lane.position = 0;
      ++lane.step;
    }
  }

  static constexpr std::array kExchanges{
      Timeline::Use::kCollective, Timeline::Use::kNccl, Timeline::Use::kSums};
  [[nodiscard]] const hardware::GpuContention::Pair& exchange(Timeline::Use use) const {
    const hardware::GpuContention& contention = timeline_.gpu_contention_;
    if (use == Timeline::Use::kNccl) return contention.nccl;
    return use == Timeline::Use::kSums ? contention.sums : contention.collective;
  }

  /// How much longer a task takes beside the others that run now.
  [[nodiscard]] double slowdown(Timeline::Use use,
                                const std::array<int, Timeline::kUses>& users) const {
    const auto count = [&](Timeline::Use of) { return users[static_cast<std::size_t>(of)]; };
    const auto beside = [](const hardware::HostContention::Beside& by, int first, int second) {
      if (first > 0 && second > 0) return by.both;
      if (first > 0) return by.first;
      return second > 0 ? by.second : 1.0;
    };
    const int to_device = count(Timeline::Use::kToDevice) + count(Timeline::Use::kStateToDevice);
    const int to_host = count(Timeline::Use::kToHost);
    const int cpu = count(Timeline::Use::kHostMemory) + count(Timeline::Use::kUpdateParameters) +
                    count(Timeline::Use::kUpdateMoments);
    using hardware::AdamWrites;
    // The cores do one thing at a time.
    const auto pass = count(Timeline::Use::kUpdateParameters) > 0 ? AdamWrites::kParameters
                      : count(Timeline::Use::kUpdateMoments) > 0  ? AdamWrites::kMoments
                                                                  : AdamWrites::kAll;
    const hardware::HostContention& contention =
        timeline_.contentions_[static_cast<std::size_t>(pass)];
    switch (use) {
      case Timeline::Use::kNothing:
        return 1;
      case Timeline::Use::kStateToDevice:
        // Gaps between loads let everything through that waits (docs/measured/slowdowns.md).
        if (count(Timeline::Use::kToDevice) > 0) return kNotYet;
        [[fallthrough]];
      case Timeline::Use::kToDevice:
        return beside(contention.to_device, to_host, cpu);
      case Timeline::Use::kToHost:
        return to_host * beside(contention.to_host, to_device, cpu);
      case Timeline::Use::kHostMemory:
      case Timeline::Use::kUpdateParameters:
      case Timeline::Use::kUpdateMoments:
        return beside(contention.cpu, to_device, to_host);
      case Timeline::Use::kCompute: {
        double most = 1;
        for (const Timeline::Use other : kExchanges) {
          if (count(other) > 0) most = std::max(most, exchange(other).compute);
        }
        const hardware::GpuContention& of_gpu = timeline_.gpu_contention_;
        // Exchanges take multiprocessors or the links between GPUs, copies the GPU's memory.
        if (to_device > 0) most *= of_gpu.compute_beside_to_device;
        if (to_host > 0) most *= of_gpu.compute_beside_to_host;
        return most;
      }
      case Timeline::Use::kCollective:  // two share the links between the GPUs
      case Timeline::Use::kNccl:
      case Timeline::Use::kSums:
        return count(use) * (count(Timeline::Use::kCompute) > 0 ? exchange(use).other : 1);
    }
    return 1;
  }

  [[nodiscard]] Timeline::Use use_of(const Lane& lane) const {
    const auto& task = timeline_.tasks_[lane.tasks[lane.position]];
    return lane.does_then ? task.then_use : task.use;
  }

  /// To the next end of a task.
  void advance() {
    std::array<int, Timeline::kUses> users{};
    for (const Lane& lane : lanes_) {
      if (lane.runs) ++users[static_cast<std::size_t>(use_of(lane))];
    }
    std::array<double, kStreamCount> left_ns{};
    double soonest_ns = kNotYet;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (!lanes_[i].runs) continue;
      left_ns[i] = lanes_[i].remaining_ns * slowdown(use_of(lanes_[i]), users);
      soonest_ns = std::min(soonest_ns, left_ns[i]);
    }
    require(soonest_ns < kNotYet, "no task of a schedule can run");
    now_ns_ += soonest_ns;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      if (!lane.runs) continue;
      if (left_ns[i] == soonest_ns) {
        if (!goes_on(lane)) end(lane);
      } else {
        lane.remaining_ns *= 1 - soonest_ns / left_ns[i];
      }
    }
  }

  const Timeline& timeline_;
  std::span<const StepLink> links_;
  std::vector<std::uint32_t> link_begin_;  // by task, and one more
  std::array<Lane, kStreamCount> lanes_;
  std::array<Step, kSteps> steps_;
  std::vector<double> finish_ns_;  // of the steps that have ended
  double now_ns_ = 0;
};

void Timeline::add(
    Stream stream, Use use, double duration_ns, std::span<const TaskId> after, double product_ns) {
  constexpr double kForEver = 0x1p80;  // finite, so that steps end; simulate() refuses it
  tasks_.push_back({.stream = stream,
                    .use = use,
                    .duration_ns = std::min(duration_ns, kForEver),
                    .product_ns = std::min(product_ns, kForEver),
                    .after_begin = static_cast<std::uint32_t>(after_.size())});
  after_.insert(after_.end(), after.begin(), after.end());
}

void Timeline::then(Use use, double duration_ns) {
  tasks_.back().then_use = use;
  tasks_.back().then_ns = duration_ns;
}

double Timeline::serial_step_ns() {
  double end_ns = 0;
  for (const Entry& task : tasks_) {
    times_.push_back({end_ns, end_ns + task.duration_ns + task.then_ns});
    end_ns = times_.back().end_ns;
  }
  return end_ns;
}

std::array<double, kStreamCount> Timeline::busy_ns() const {
  std::array<double, kStreamCount> busy{};
  for (std::size_t i = 0; i < times_.size(); ++i) {
    busy[static_cast<std::size_t>(tasks_[i].stream)] += times_[i].end_ns - times_[i].start_ns;
  }
  return busy;
}

double Timeline::steady_step_ns(std::span<const StepLink> links) {
  if (tasks_.empty()) return 0;
  if (serial_) return serial_step_ns();
  const double step_ns = run_ns(links);
  const double product_ns =
      std::accumulate(tasks_.begin(), tasks_.end(), 0.0, [](double sum, const Entry& task) {
        return sum + task.product_ns;
      });
  // Products that take longer make the step longer, too, so that their share hardly changes.
  const double slowdown = clock_.slowdown(product_ns / step_ns);
  constexpr double kWorthIt = 1.002;
  if (slowdown < kWorthIt) return step_ns;
  for (Entry& task : tasks_) task.duration_ns += task.product_ns * (slowdown - 1);
  return run_ns(links);
}

double Timeline::run_ns(std::span<const StepLink> links) {
  SteadyRun run(*this, links);
  const double step_ns = run.steady_ns();
  times_ = run.times();
  return step_ns;
}

}  // namespace elixir::schedule
