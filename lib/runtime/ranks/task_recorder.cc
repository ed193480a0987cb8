// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/task_recorder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elixir::runtime {
namespace {

bool waits_for_ranks(const TaskRecord& record) {
  return schedule::is_between_ranks(record.stream);
}

}  // namespace

std::string text_of(const RankPosition& position) {
  if (position.step == 0) return "before its first step";
  if (position.task < 0) {
    return fmt::format("in step {}, between tasks ({} done)", position.step, position.tasks_ended);
  }
  const auto kind = static_cast<schedule::TaskKind>(position.kind);
  std::string text =
      fmt::format("in step {}, task {} ({}", position.step, position.task, name_of(kind));
  if (position.chunk >= 0) text += fmt::format(" of chunk {}", position.chunk);
  return text + ")";
}

TaskRecorder::TaskRecorder(std::chrono::milliseconds patience) : patience_(patience) {}

void TaskRecorder::set_predicted_step(double step_ns) {
  const std::scoped_lock lock(mutex_);
  predicted_step_ns_ = static_cast<std::int64_t>(step_ns);
}

std::int64_t TaskRecorder::now_ns() const {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - made_).count();
}

void TaskRecorder::begin(std::int64_t step, const schedule::Task& task) {
  const std::scoped_lock lock(mutex_);
  if (first_step_ == 0) first_step_ = step;
  step_ = std::max(step_, step);
  running_[static_cast<std::size_t>(task.stream)] = TaskRecord{
      .step = step,
      .task = task.id,
      .chunk = task.chunk,
      .kind = task.kind,
      .stream = task.stream,
      .begin_ns = now_ns(),
  };
}

void TaskRecorder::end(const schedule::Task& task) {
  const std::scoped_lock lock(mutex_);
  auto& running = running_[static_cast<std::size_t>(task.stream)];
  ++tasks_ended_;
  if (!running || running->task != task.id) return;
  running->end_ns = now_ns();
  if (!waits_for_ranks(*running)) {
    longest_ns_ = std::max(longest_ns_, *running->end_ns - running->begin_ns);
  }
  ended_.push_back(*std::exchange(running, std::nullopt));
  if (ended_.size() > kKept) ended_.pop_front();
}

RankPosition TaskRecorder::position() const {
  using std::chrono::milliseconds;
  constexpr std::int64_t kNsOfMs = 1'000'000;
  const std::scoped_lock lock(mutex_);
  RankPosition position{.step = step_, .tasks_ended = tasks_ended_};
  const TaskRecord* chosen = nullptr;
  for (const auto& running : running_) {
    if (!running) continue;
    // What computes comes before what waits: others may wait for it.
    const auto rank = [](const TaskRecord& record) {
      return std::pair(waits_for_ranks(record), record.begin_ns);
    };
    if (chosen == nullptr || rank(*running) < rank(*chosen)) chosen = &*running;
  }
  if (chosen == nullptr) return position;
  position.step = chosen->step;
  position.task = chosen->task;
  position.chunk = chosen->chunk;
  position.kind = static_cast<std::int32_t>(chosen->kind);
  position.waits = waits_for_ranks(*chosen) ? 1 : 0;
  position.running_ms = (now_ns() - chosen->begin_ns) / kNsOfMs;
  position.allowed_ms = patience_.count() + std::max(predicted_step_ns_, 4 * longest_ns_) / kNsOfMs;
  if (chosen->step < first_step_ + 2) position.allowed_ms += milliseconds(kFirstSteps).count();
  return position;
}

std::vector<TaskRecord> TaskRecorder::records() const {
  const std::scoped_lock lock(mutex_);
  std::vector<TaskRecord> all(ended_.begin(), ended_.end());
  for (const auto& running : running_) {
    if (running) all.push_back(*running);
  }
  return all;
}

}  // namespace elixir::runtime
