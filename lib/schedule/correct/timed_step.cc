// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/correct/timed_step.h"

#include <optional>
#include <set>

#include "core/error.h"

namespace elixir::schedule {
namespace {

std::optional<Work> work_of(const Task& task, const plan::Plan& plan) {
  switch (task.kind) {
    case TaskKind::kCompute:
      return Work::kCompute;
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
      if (task.stream == Stream::kHostToDevice || task.stream == Stream::kDeviceUpdate) {
        return Work::kToDevice;
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

void add(WorkTimes& times, std::optional<Work> work, double ns) {
  if (work) times[static_cast<std::size_t>(*work)] += ns;
}

}  // namespace

WorkTimes work_times(const Schedule& schedule,
                     const plan::Plan& plan,
                     const std::vector<TaskTime>& times) {
  require(times.size() == schedule.tasks.size(), "times are those of another schedule");
  WorkTimes sums{};
  for (std::size_t i = 0; i < times.size(); ++i) {
    add(sums, work_of(schedule.tasks[i], plan), times[i].end_ns - times[i].start_ns);
  }
  return sums;
}

WorkTimes work_times(const Schedule& schedule, const plan::Plan& plan, const JsonDocument& trace) {
  constexpr double kNsPerUs = 1e3;
  const JsonCursor events = trace.root().at("traceEvents");
  std::set<std::int64_t> measured;  // processes
  WorkTimes sums{};
  std::size_t tasks = 0;
  for (const JsonCursor& event : events.items()) {
    const JsonCursor arguments = event.at("args");
    const std::int64_t process = event.at("pid").integer();
    if (event.at("ph").string() == "M") {
      const bool names = event.at("name").string() == "process_name";
      if (names && arguments.at("name").string().rfind("measured", 0) == 0) measured.insert(process);
      continue;
    }
    if (measured.count(process) == 0) continue;
    const std::int64_t id = arguments.at("task").non_negative();
    const auto count = static_cast<std::int64_t>(schedule.tasks.size());
    if (id >= count || event.at("cat").string() != name_of(schedule.tasks[id].kind)) {
      throw event.error(ErrorCode::kJsonBadValue, "task {} is none of the plan's", id);
    }
    add(sums, work_of(schedule.tasks[id], plan), event.at("dur").number() * kNsPerUs);
    ++tasks;
  }
  if (measured.empty()) {
    throw events.error(ErrorCode::kJsonBadValue, "no measured step is in this trace");
  }
  if (tasks != measured.size() * schedule.tasks.size()) {
    throw events.error(ErrorCode::kJsonBadValue,
                       "{} tasks of {} ranks, where the plan has {}",
                       tasks,
                       measured.size(),
                       schedule.tasks.size());
  }
  for (double& sum : sums) sum /= static_cast<double>(measured.size());
  return sums;
}

}  // namespace elixir::schedule
