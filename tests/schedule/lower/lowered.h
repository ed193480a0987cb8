// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Schedules of plans that tests lay out themselves, and what they consist of.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "program/lifetimes.h"
#include "schedule/schedule.h"

namespace elixir::fakes {

inline schedule::Schedule lower_plan(const program::Program& program,
                                     const plan::Plan& plan,
                                     const schedule::LoweringOptions& options = {}) {
  return lower(program, program::analyse_lifetimes(program), plan, options);
}

inline std::vector<schedule::TaskKind> kinds(const schedule::Schedule& schedule) {
  std::vector<schedule::TaskKind> result;
  for (const schedule::Task& task : schedule.tasks) result.push_back(task.kind);
  return result;
}

inline std::int64_t count(const schedule::Schedule& schedule, schedule::TaskKind kind) {
  const auto all = kinds(schedule);
  return std::count(all.begin(), all.end(), kind);
}

}  // namespace elixir::fakes
