// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// lower() of schedule.h and lower_into() of task_sink.h: where others enter this folder. The same
// inputs give the same tasks in the same order. operator_walk.h makes them.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"
#include "schedule/lower/operator_walk.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"
#include "schedule/task_sink.h"

namespace elixir::schedule {
namespace {

/// Tasks, loads and their bookkeeping grow with the calls of a whole step.
void check_size(const program::Program& program, int micro_batches) {
  constexpr std::int64_t kMostCalls = std::int64_t{1} << 24;
  const auto calls = static_cast<std::int64_t>(program.operators.size());
  if (calls == 0 || micro_batches <= kMostCalls / calls) return;
  throw Error(ErrorCode::kInconsistentPlan,
              "{} micro-batches of {} calls are more than the {} calls that a schedule "
              "may have",
              micro_batches,
              calls,
              kMostCalls)
      .help("use fewer accumulation steps and larger micro-batches");
}

/// Keeps all tasks.
class Collector : public TaskSink {
 public:
  explicit Collector(Schedule& schedule) : schedule_(schedule) {}
  void begin(const std::vector<Buffer>& buffers) override { schedule_.buffers = buffers; }
  void take(Task&& task, std::span<const TaskId> after) override {
    schedule_.tasks.push_back(std::move(task));
    schedule_.tasks.back().after.assign(after.begin(), after.end());
  }
  void end(std::span<const StepLink> links) override {
    for (const StepLink& link : links) {
      schedule_.tasks[link.task].after_previous.push_back(link.previous);
    }
  }

 private:
  Schedule& schedule_;
};

}  // namespace

void lower_into(TaskSink& sink,
                const program::Program& program,
                const program::Lifetimes& lifetimes,
                const ProgramNeeds& needs,
                const plan::Plan& plan,
                const std::vector<plan::Place>& places,
                const LoweringOptions& options) {
  require(needs.training == options.training, "the needs belong to another kind of step");
  if (options.training) check_size(program, plan.accumulation_steps);
  OperatorWalk(sink, program, lifetimes, needs, plan, places, options).run();
}

Schedule lower(const program::Program& program,
               const program::Lifetimes& lifetimes,
               const plan::Plan& plan,
               const LoweringOptions& options) {
  Schedule schedule{.micro_batches = options.training ? plan.accumulation_steps : 1,
                    .training = options.training};
  Collector collector(schedule);
  lower_into(collector,
             program,
             lifetimes,
             program_needs(program, lifetimes, options.training),
             plan,
             plan::locate_parameters(plan, program),
             options);
  return schedule;
}

}  // namespace elixir::schedule
