// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The walk over the tasks, and what must hold at its end.
#include <algorithm>

#include "schedule/check/checker.h"

namespace elixir::schedule {

std::vector<std::string> Checker::run() {
  if (!structure_is_sound()) return std::move(problems_);
  read_program();
  read_plan();
  check_buffers();
  for (step_ = 0; step_ < kSteps && problems_.empty(); ++step_) {
    begin_step();
    for (const Task& task : schedule_.tasks) {
      if (problems_.size() >= kMostProblems) break;
      visit(task);
    }
    check_end();
  }
  return std::move(problems_);
}

void Checker::check_end() {
  for (int m = 0; m < schedule_.micro_batches; ++m) {
    if (!closed_[m]) problem("micro-batch {} does not run to its end", m);
    if (program_.loss.storage >= 0 && losses_read_[m] != 1) {
      problem("the loss of micro-batch {} is read {} times", m, losses_read_[m]);
    }
  }
  const bool mutates = std::any_of(program_.buffers.begin(),
                                   program_.buffers.end(),
                                   [](const auto& buffer) { return buffer.mutated; });
  if (shared_buffers_ != (several_ranks() && schedule_.training && mutates ? 1 : 0)) {
    problem("the ranks share the buffers that they changed {} times", shared_buffers_);
  }
  for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
    if (trained_in_[c].empty()) continue;
    for (const std::int32_t parameter : trained_in_[c]) {
      if (summed_[parameter] != parts_) {
        problem("the gradient of {} has {} of {} parts",
                program_.parameters[parameter].name,
                summed_[parameter],
                parts_);
      }
    }
    if (makes_moments_late(static_cast<std::int32_t>(c)) && moments_made_[c] < 0) {
      problem("the late moments of chunk {} are never made", c);
    }
    if (!updated_[c]) {
      problem("chunk {} is never updated", c);
    } else if (!home_again_[c]) {
      problem("chunk {}'s updated parameters never come home", c);
    }
  }
}

std::vector<std::string> check(const Schedule& schedule,
                               const program::Program& program,
                               const plan::Plan& plan) {
  return Checker(schedule, program, plan).run();
}

}  // namespace elixir::schedule
