// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Lowering without a schedule in memory: each task goes to a sink as soon as it is made. lower()
// collects them; a search simulates them at once, thousands of plans one after the other.

#include <compare>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// `task` waits for `previous` of the step before.
struct StepLink {
  TaskId task = -1, previous = -1;
  // clang-tidy 14 takes the 0 that this compares with for a pointer.
  auto operator<=>(const StepLink&) const = default;  // NOLINT(modernize-use-nullptr)
};

class TaskSink {
 public:
  virtual ~TaskSink() = default;
  /// Comes first, with all buffers of the schedule.
  virtual void begin(const std::vector<Buffer>& buffers) = 0;
  /// In issue order. `after` is what belongs into `task.after`, which is empty.
  virtual void take(Task&& task, std::span<const TaskId> after) = 0;
  /// Comes last: what belongs into the tasks' `after_previous`, ascending.
  virtual void end(std::span<const StepLink> links) = 0;
};

/// Like lower(). `needs` are made with `options.training`; `places` says where the plan puts its
/// parameters, so that the plan's chunks need no names.
void lower_into(TaskSink& sink,
                const program::Program& program,
                const program::Lifetimes& lifetimes,
                const ProgramNeeds& needs,
                const plan::Plan& plan,
                const std::vector<plan::Place>& places,
                const LoweringOptions& options);

}  // namespace elixir::schedule
