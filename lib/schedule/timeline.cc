// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/timeline.h"

#include <algorithm>
#include <cmath>

namespace elixir::schedule {
namespace {

/// The steps of a run settle within a few; some alternate between two durations for ever.
constexpr int kMostSteps = 10;
constexpr double kSameShare = 1e-9;

}  // namespace

void Timeline::add(Stream stream, double duration_ns, std::span<const TaskId> after) {
  tasks_.push_back({stream, duration_ns, static_cast<std::uint32_t>(after_.size())});
  after_.insert(after_.end(), after.begin(), after.end());
}

void Timeline::run_step(std::span<const StepLink> links) {
  previous_.swap(times_);
  times_.resize(tasks_.size());
  origin_ns_ = free_ns_[static_cast<std::size_t>(Stream::kCompute)];
  auto link = links.begin();
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const Entry& task = tasks_[i];
    double& free_ns = free_ns_[static_cast<std::size_t>(task.stream)];
    double start_ns = serial_ ? finish_ns_ : free_ns;
    const std::size_t after_end = i + 1 < tasks_.size() ? tasks_[i + 1].after_begin : after_.size();
    for (std::size_t a = task.after_begin; a < after_end; ++a) {
      start_ns = std::max(start_ns, times_[after_[a]].end_ns);
    }
    for (; link != links.end() && link->task == static_cast<TaskId>(i); ++link) {
      if (!previous_.empty()) start_ns = std::max(start_ns, previous_[link->previous].end_ns);
    }
    times_[i] = {start_ns, start_ns + task.duration_ns};
    free_ns = times_[i].end_ns;
    finish_ns_ = std::max(finish_ns_, free_ns);
  }
}

double Timeline::steady_step_ns(std::span<const StepLink> links) {
  run_step(links);
  double step_ns = finish_ns_;
  if (links.empty() || serial_) return step_ns;
  double before_ns = 0;
  for (int step = 2; step <= kMostSteps; ++step) {
    const double begin_ns = finish_ns_;
    run_step(links);
    before_ns = step_ns;
    step_ns = finish_ns_ - begin_ns;
    if (std::abs(step_ns - before_ns) <= kSameShare * step_ns) return step_ns;
  }
  return (step_ns + before_ns) / 2;
}

std::vector<TaskTime> Timeline::times() const {
  std::vector<TaskTime> times = times_;
  for (TaskTime& time : times) {
    time.start_ns -= origin_ns_;
    time.end_ns -= origin_ns_;
  }
  return times;
}

}  // namespace elixir::schedule
