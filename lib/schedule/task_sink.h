// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Lowering without a schedule in memory: each task goes to a sink as soon as it is made. lower()
// collects them; a search simulates them at once, thousands of plans one after the other.

#include <span>
#include <vector>

#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

class TaskSink {
 public:
  virtual ~TaskSink() = default;
  /// Comes first, with all buffers of the schedule.
  virtual void begin(const std::vector<Buffer>& buffers) = 0;
  /// In issue order. `after` is what belongs into `task.after`, which is empty.
  virtual void take(Task&& task, std::span<const TaskId> after) = 0;
};

/// Like lower(). `needs` are those of `options.training`, `places` those of the plan's parameters:
/// the plan's chunks need no names.
void lower_into(TaskSink& sink,
                const program::Program& program,
                const program::Lifetimes& lifetimes,
                const ProgramNeeds& needs,
                const plan::Plan& plan,
                const std::vector<plan::Place>& places,
                const LoweringOptions& options);

}  // namespace elixir::schedule
