// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the tasks of this rank do now, and which ended last. Other ranks hear of it by heartbeats,
// and a run that fails writes it down. A task is recorded while its work runs on the thread of its
// stream: on a GPU that is when it is enqueued, and so it is for updates on the cores, which
// overlap.

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace elixir::runtime {

struct TaskRecord {
  std::int64_t step = 0;
  schedule::TaskId task = -1;
  std::int32_t chunk = -1;
  schedule::TaskKind kind = schedule::TaskKind::kCompute;
  schedule::Stream stream = schedule::Stream::kCompute;
  std::int64_t begin_ns = 0;  ///< since the recorder was made
  std::optional<std::int64_t> end_ns;
};

/// What a rank is at. It is sent to other ranks as it is: all run the same binary.
struct RankPosition {
  std::int64_t step = 0;         ///< the newest that was begun; 0: none
  std::int64_t tasks_ended = 0;  ///< in all steps
  std::int64_t running_ms = 0;   ///< how long the task below has run
  std::int64_t allowed_ms = 0;   ///< how long it may run without being taken for stuck
  std::int32_t task = -1;        ///< the one that runs for longest; -1: none
  std::int32_t chunk = -1;
  std::int32_t kind = 0;   ///< schedule::TaskKind
  std::int32_t waits = 0;  ///< 1: the task waits for other ranks

  /// Not because it waits for others.
  [[nodiscard]] bool is_stuck() const { return task >= 0 && waits == 0 && running_ms > allowed_ms; }
};

/// "in step 12, task 45 (reduce of chunk 3)".
[[nodiscard]] std::string text_of(const RankPosition& position);

class TaskRecorder {
 public:
  static constexpr std::size_t kKept = 256;

  /// A task may run for `patience`, and for what the plan predicts for a step, or four times as
  /// long as any before it. The first two steps of a process load kernels: kFirstSteps more.
  explicit TaskRecorder(std::chrono::milliseconds patience = std::chrono::seconds(10));
  static constexpr std::chrono::seconds kFirstSteps{120};
  void set_predicted_step(double step_ns);

  /// Tasks of one stream run one after another.
  void begin(std::int64_t step, const schedule::Task& task);
  void end(const schedule::Task& task);

  [[nodiscard]] RankPosition position() const;
  /// The last kKept that have ended, oldest first, then those that run.
  [[nodiscard]] std::vector<TaskRecord> records() const;

 private:
  [[nodiscard]] std::int64_t now_ns() const;

  std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::array<std::optional<TaskRecord>, schedule::kStreamCount> running_;  ///< by stream
  std::deque<TaskRecord> ended_;
  std::int64_t first_step_ = 0, step_ = 0, tasks_ended_ = 0, longest_ns_ = 0,
               predicted_step_ns_ = 0;
};

}  // namespace elixir::runtime
