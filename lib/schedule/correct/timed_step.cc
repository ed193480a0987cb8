// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/correct/timed_step.h"

#include <map>
#include <optional>

#include "core/error.h"

namespace elixir::schedule {
namespace {

std::optional<Work> work_of(const Task& task, const plan::Plan& plan) {
  switch (task.kind) {
    case TaskKind::kUpdateMoments:
      return Work::kUpdateMoments;
    case TaskKind::kUpdate:
      if (task.stream != Stream::kCpu) return std::nullopt;
      return plan.chunks[task.chunk].late_moments ? Work::kUpdateParameters : Work::kUpdate;
    case TaskKind::kFetch:
    case TaskKind::kLoadState:
      return Work::kToDevice;
    case TaskKind::kStoreState:
    case TaskKind::kStoreShard:
      return Work::kToHost;
    case TaskKind::kOffload:
    case TaskKind::kReload:
    case TaskKind::kMoveGradients:
    case TaskKind::kMoveParameters:
    case TaskKind::kStoreGradient:
      if (copies_to_host(task.stream)) return Work::kToHost;
      if (copies_to_device(task.stream)) return Work::kToDevice;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool is_backward(const Task& task, const program::Program& program) {
  return task.kind == TaskKind::kCompute && task.first < task.last &&
         program.operators[task.first].phase == program::Phase::kBackward;
}

/// By process, the times of a measured step's tasks.
using RankTimes = std::map<std::int64_t, std::vector<TaskTime>>;

void read_event(const JsonCursor& event, const Schedule& schedule, RankTimes& ranks) {
  constexpr double kNsPerUs = 1e3;
  const JsonCursor arguments = event.at("args");
  const std::int64_t process = event.at("pid").integer();
  if (event.at("ph").string() == "M") {
    const bool names = event.at("name").string() == "process_name";
    if (names && arguments.at("name").string().rfind("measured", 0) == 0) ranks[process];
    return;
  }
  const auto rank = ranks.find(process);
  if (rank == ranks.end()) return;
  // In the order of their ids.
  const std::size_t id = rank->second.size();
  if (id >= schedule.tasks.size() ||
      arguments.at("task").non_negative() != static_cast<TaskId>(id) ||
      event.at("cat").string() != name_of(schedule.tasks[id].kind)) {
    throw event.error(ErrorCode::kJsonBadValue, "this task is none of the plan's");
  }
  const double start_ns = event.at("ts").number() * kNsPerUs;
  rank->second.push_back({start_ns, start_ns + event.at("dur").number() * kNsPerUs});
}

}  // namespace

WorkTimes work_times(const Schedule& schedule,
                     const program::Program& program,
                     const plan::Plan& plan,
                     const std::vector<TaskTime>& times) {
  require(times.size() == schedule.tasks.size(), "the times belong to another schedule");
  WorkTimes sums{};
  std::map<std::int32_t, TaskTime> backward;  // by micro-batch
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Task& task = schedule.tasks[i];
    if (is_backward(task, program)) {
      const auto [span, is_first] = backward.try_emplace(task.micro_batch, times[i]);
      if (!is_first) span->second.end_ns = times[i].end_ns;
    } else if (const std::optional<Work> work = work_of(task, plan)) {
      sums[static_cast<std::size_t>(*work)] += times[i].end_ns - times[i].start_ns;
    }
  }
  for (const auto& [micro_batch, span] : backward) {
    sums[static_cast<std::size_t>(Work::kOperators)] += span.end_ns - span.start_ns;
  }
  return sums;
}

WorkTimes work_times(const Schedule& schedule,
                     const program::Program& program,
                     const plan::Plan& plan,
                     const JsonDocument& trace) {
  const JsonCursor events = trace.root().at("traceEvents");
  RankTimes ranks;
  for (const JsonCursor& event : events.items()) read_event(event, schedule, ranks);
  if (ranks.empty()) {
    throw events.error(ErrorCode::kJsonBadValue, "no measured step is in this trace");
  }
  WorkTimes mean{};
  for (const auto& [process, times] : ranks) {
    if (times.size() != schedule.tasks.size()) {
      throw events.error(ErrorCode::kJsonBadValue,
                         "process {} has {} tasks, where the plan has {}",
                         process,
                         times.size(),
                         schedule.tasks.size());
    }
    const WorkTimes sums = work_times(schedule, program, plan, times);
    for (std::size_t i = 0; i < kWorkCount; ++i) {
      mean[i] += sums[i] / static_cast<double>(ranks.size());
    }
  }
  return mean;
}

}  // namespace elixir::schedule
