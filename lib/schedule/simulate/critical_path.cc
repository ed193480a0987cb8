// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/simulate/critical_path.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "schedule/simulate/serial.h"

namespace elixir::schedule {
namespace {

/// Steps that follow each other, in which every task begins as soon as what it waits for has ended.
class LongRun {
 public:
  LongRun(const Schedule& schedule, std::span<const TaskTime> times)
      : tasks_(schedule.tasks), times_(times), stream_before_(tasks_.size(), kNone) {
    last_of_stream_.fill(kNone);
    for (const Task& task : tasks_) {
      TaskId& last = last_of_stream_[static_cast<std::size_t>(task.stream)];
      stream_before_[task.id] = last;
      last = task.id;
    }
    for (std::int32_t step = 0; step < kSteps; ++step) run(step);
  }

  /// The cycle with the longest time for each step. Walks back from the end of each stream.
  /// Whenever a task comes again, what lies between is a cycle, and is left out of the walk.
  [[nodiscard]] CriticalPath slowest_cycle() const {
    CriticalPath slowest;
    for (const TaskId last : last_of_stream_) {
      std::vector<Place> walked;
      std::vector<std::int32_t> walked_at(tasks_.size(), kNone);  // by task: where in `walked`
      for (Place place{last, kSteps - 1}; place.task != kNone; place = awaited_[index(place)]) {
        const std::int32_t first = walked_at[place.task];
        if (first != kNone) {
          const std::span<const Place> cycle = std::span(walked).subspan(first);
          const CriticalPath path = path_along(cycle, cycle.front().step - place.step);
          if (path.total_ns() > slowest.total_ns()) slowest = path;
          for (const Place& cut : cycle) walked_at[cut.task] = kNone;
          walked.resize(first);
        }
        walked_at[place.task] = static_cast<std::int32_t>(walked.size());
        walked.push_back(place);
      }
    }
    return slowest;
  }

 private:
  static constexpr TaskId kNone = -1;
  static constexpr std::int32_t kSteps = 32;

  struct Place {
    TaskId task = kNone;
    std::int32_t step = 0;
  };

  [[nodiscard]] std::size_t index(const Place& place) const {
    return static_cast<std::size_t>(place.step) * tasks_.size() +
           static_cast<std::size_t>(place.task);
  }
  [[nodiscard]] double duration_ns(TaskId task) const {
    return times_[task].end_ns - times_[task].start_ns;
  }

  /// The path along `places`, which lie in `steps` steps, divided by them.
  [[nodiscard]] CriticalPath path_along(std::span<const Place> places, std::int32_t steps) const {
    CriticalPath path;
    for (const Place& place : places) {
      const Task& task = tasks_[place.task];
      path.by_stream_ns[static_cast<std::size_t>(task.stream)] += duration_ns(task.id) / steps;
    }
    return path;
  }

  void run(std::int32_t step) {
    for (const Task& task : tasks_) {
      Place latest;
      double start_ns = 0;
      const auto wait = [&](TaskId other, std::int32_t steps_back) {
        if (other == kNone || step < steps_back) return;
        const Place place{other, step - steps_back};
        const double end_ns = end_ns_[index(place)];
        if (latest.task != kNone && end_ns <= start_ns) return;
        latest = place;
        start_ns = end_ns;
      };
      const TaskId before = stream_before_[task.id];
      if (before != kNone) {
        wait(before, 0);
      } else {
        wait(last_of_stream_[static_cast<std::size_t>(task.stream)], 1);
      }
      for (const TaskId other : task.after) wait(other, 0);
      for (const TaskId other : task.after_previous) wait(other, 1);
      awaited_.push_back(latest);
      end_ns_.push_back(start_ns + duration_ns(task.id));
    }
  }

  const std::vector<Task>& tasks_;
  std::span<const TaskTime> times_;
  std::vector<TaskId> stream_before_;  ///< by task: the one before it on its stream
  std::array<TaskId, kStreamCount> last_of_stream_{};
  // By step, then by task:
  std::vector<double> end_ns_;
  std::vector<Place> awaited_;  ///< what it waited for longest
};

CriticalPath all_tasks(const Schedule& schedule, std::span<const TaskTime> times) {
  CriticalPath path;
  for (const Task& task : schedule.tasks) {
    path.by_stream_ns[static_cast<std::size_t>(task.stream)] +=
        times[task.id].end_ns - times[task.id].start_ns;
  }
  return path;
}

}  // namespace

double CriticalPath::total_ns() const {
  return std::accumulate(by_stream_ns.begin(), by_stream_ns.end(), idle_ns);
}

CriticalPath critical_path(const Schedule& schedule,
                           std::span<const TaskTime> times,
                           double step_ns) {
  require(!times.empty() && times.size() == schedule.tasks.size(),
          "a path through other tasks than the schedule's");
  CriticalPath path = one_after_another(times, step_ns) ? all_tasks(schedule, times)
                                                        : LongRun(schedule, times).slowest_cycle();
  path.idle_ns = std::max(0.0, step_ns - path.total_ns());
  return path;
}

}  // namespace elixir::schedule
