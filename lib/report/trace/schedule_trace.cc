// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/trace/schedule_trace.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json.h"
#include "program/names/labels.h"
#include "schedule/simulate/lateness.h"

namespace elixir::report {
namespace {

/// Nanoseconds as microseconds. Doubles would lose the last digits of long runs.
std::string microseconds(double ns) {
  const std::int64_t whole = std::llround(std::max(0.0, ns));
  return fmt::format("{}.{:03}", whole / 1000, whole % 1000);
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string module_of(const program::Program& program, program::OperatorId id) {
  const std::int32_t module = program.operators.at(static_cast<std::size_t>(id)).module;
  return module < 0 ? std::string() : program.modules.at(static_cast<std::size_t>(module));
}

/// "forward block.0 - block.1: aten::addmm and 6 more": phase, modules, the call with the most work
/// (the first on ties) and the number of other calls.
std::string run_by(const schedule::Task& task, const program::Program& program) {
  const program::Operator* heaviest = nullptr;
  for (program::OperatorId id = task.first; id < task.last; ++id) {
    const program::Operator& op = program.operators.at(static_cast<std::size_t>(id));
    if (heaviest == nullptr || op.flops > heaviest->flops) heaviest = &op;
  }
  const std::string first = module_of(program, task.first);
  const std::string last = module_of(program, task.last - 1);
  std::string label = program::label_of(heaviest->phase) + " " + program::module_label(first);
  if (last != first) label += " - " + program::module_label(last);
  label += ": " + heaviest->name;
  if (task.last - task.first > 1) label += fmt::format(" and {} more", task.last - task.first - 1);
  return label;
}

}  // namespace

std::string label_of(const schedule::Task& task, const program::Program& program) {
  if (task.kind == schedule::TaskKind::kCompute && task.first >= 0 && task.last > task.first) {
    return run_by(task, program);
  }
  std::string label(schedule::name_of(task.kind));
  if (task.parameter >= 0) {
    label += " " + program.parameters.at(static_cast<std::size_t>(task.parameter)).name;
  } else if (task.chunk >= 0) {
    label += fmt::format(" chunk {}", task.chunk);
  }
  return label;
}

void write_schedule_trace(const schedule::Schedule& schedule,
                          const program::Program& program,
                          const std::vector<Timeline>& timelines,
                          const Sink& sink) {
  sink("{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  bool first = true;
  const auto event = [&](const std::string& text) {
    sink(first ? text : ",\n" + text);
    first = false;
  };
  for (std::size_t pid = 0; pid < timelines.size(); ++pid) {
    const Timeline& timeline = timelines[pid];
    require(timeline.tasks.size() == schedule.tasks.size(),
            "a timeline has other tasks than its schedule");
    event(fmt::format(R"({{"ph":"M","pid":{},"tid":0,"name":"process_name","args":{{"name":{}}}}})",
                      pid,
                      quoted(timeline.name)));
    event(fmt::format(
        R"({{"ph":"M","pid":{},"tid":0,"name":"process_sort_index","args":{{"sort_index":{}}}}})",
        pid,
        pid));
    for (int i = 0; i < schedule::kStreamCount; ++i) {
      const auto stream = static_cast<schedule::Stream>(i);
      event(
          fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
                      pid,
                      static_cast<int>(stream),
                      quoted(std::string(schedule::name_of(stream)))));
      event(fmt::format(
          R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
          pid,
          static_cast<int>(stream),
          static_cast<int>(stream)));
    }
    // What the next step needs may come before the compute stream's part of this one has ended.
    double origin_ns = 0;
    for (const schedule::TaskTime& time : timeline.tasks) {
      origin_ns = std::min(origin_ns, time.start_ns);
    }
    std::vector<double> late_ns;
    if (timeline.step_ns) {
      late_ns = schedule::lateness_ns(schedule, timeline.tasks, *timeline.step_ns);
    }
    for (std::size_t id = 0; id < schedule.tasks.size(); ++id) {
      const schedule::Task& task = schedule.tasks[id];
      const schedule::TaskTime& time = timeline.tasks[id];
      event(fmt::format(
          R"({{"ph":"X","pid":{},"tid":{},"name":{},"cat":{},"ts":{},"dur":{},"args":{{"task":{},"micro_batch":{},"chunk":{},"bytes":{}{}}}}})",
          pid,
          static_cast<int>(task.stream),
          quoted(label_of(task, program)),
          quoted(std::string(schedule::name_of(task.kind))),
          microseconds(time.start_ns - origin_ns),
          microseconds(time.end_ns - time.start_ns),
          id,
          task.micro_batch,
          task.chunk,
          task.bytes,
          late_ns.empty() ? "" : fmt::format(R"(,"late_us":{})", microseconds(late_ns[id]))));
    }
  }
  sink("\n]}\n");
}

}  // namespace elixir::report
