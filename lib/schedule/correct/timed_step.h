// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the tasks of a run's timed step took, as its trace.json has it
// (report/trace/schedule_trace.h).

#include <array>
#include <vector>

#include "core/json.h"
#include "plan/plan.h"
#include "program/program.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"

namespace elixir::schedule {

/// Work whose time the machine's figures predict, one figure each.
enum class Work : std::uint8_t {
  kOperators,  ///< of backward, from the first to the last: whatever they wait for there counts
  kToDevice,
  kToHost,
  kUpdate,            ///< AdamW on the cores, of masters, parameters and moments
  kUpdateParameters,  ///< the same without moments (plan::Chunk::late_moments)
  kUpdateMoments,
};
inline constexpr std::size_t kWorkCount = 6;
inline constexpr NameTable<Work, kWorkCount> kWorks{
    {{Work::kOperators, "operators of backward"},
     {Work::kToDevice, "copies to the device"},
     {Work::kToHost, "copies to the host"},
     {Work::kUpdate, "AdamW on the cores"},
     {Work::kUpdateParameters, "AdamW on the cores, without moments"},
     {Work::kUpdateMoments, "AdamW on the cores, moments alone"}}};

/// In nanoseconds, by Work. Copies and updates that run at once count each.
using WorkTimes = std::array<double, kWorkCount>;

/// The times of one step's work; `times` by task id.
[[nodiscard]] WorkTimes work_times(const Schedule& schedule,
                                   const program::Program& program,
                                   const plan::Plan& plan,
                                   const std::vector<TaskTime>& times);

/// The times of a measured step's work: the mean over the ranks in `trace`. Throws kJsonBadValue
/// when it is a trace of another schedule, or holds no measured step.
[[nodiscard]] WorkTimes work_times(const Schedule& schedule,
                                   const program::Program& program,
                                   const plan::Plan& plan,
                                   const JsonDocument& trace);

}  // namespace elixir::schedule
