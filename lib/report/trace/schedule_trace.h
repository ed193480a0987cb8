// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// lib/report/trace: steps as files for other viewers: Chrome traces, PyTorch memory snapshots.
//
// A step as a Chrome trace (chrome://tracing, Perfetto): one process per timeline ("predicted",
// "measured rank 0"), one thread per stream, one slice per task. Predicted and measured show
// the same tasks, because they are the same schedule. Times are microseconds since the start of the
// step, on this rank, printed from integer nanoseconds.

#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "program/program.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"

namespace elixir::report {

struct Timeline {
  std::string name;                       ///< "measured rank 0"
  std::vector<schedule::TaskTime> tasks;  ///< by task id
  /// The time of a measured step. Set, each task of the trace says how long it could have begun
  /// before it did (`late_us`).
  std::optional<double> step_ns = {};
};

/// What a task does, for people: "compute transformer.h.0 … transformer.h.1", "fetch chunk 3".
[[nodiscard]] std::string label_of(const schedule::Task& task, const program::Program& program);

/// A timeline must have one time per task of the schedule, else it is a bug (kInternal).
void write_schedule_trace(const schedule::Schedule& schedule,
                          const program::Program& program,
                          const std::vector<Timeline>& timelines,
                          const Sink& sink);

}  // namespace elixir::report
