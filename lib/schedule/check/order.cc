// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The structure of the task list, vector clocks, and the accesses of tasks.
#include <algorithm>

#include "schedule/check/checker.h"

namespace elixir::schedule {

using program::OperatorId;
using program::StorageId;

bool Checker::structure_is_sound() {
  const auto buffers = static_cast<BufferId>(schedule_.buffers.size());
  const auto chunks = static_cast<std::int32_t>(plan_.chunks.size());
  const auto operators = static_cast<OperatorId>(program_.operators.size());
  const auto in = [](auto value, auto low, auto high) { return value >= low && value < high; };
  for (std::size_t i = 0; i < schedule_.buffers.size(); ++i) {
    const Buffer& buffer = schedule_.buffers[i];
    if (buffer.id != static_cast<BufferId>(i)) problem("buffer {} has id {}", i, buffer.id);
    if (buffer.bytes < 0) problem("buffer {} has {} bytes", i, buffer.bytes);
  }
  for (std::size_t i = 0; i < schedule_.tasks.size(); ++i) {
    const Task& task = schedule_.tasks[i];
    if (task.id != static_cast<TaskId>(i)) problem("task {} has id {}", i, task.id);
    for (const TaskId before : task.after) {
      if (!in(before, 0, static_cast<TaskId>(i))) {
        problem("task {} waits for task {}, which is not before it", i, before);
      }
    }
    for (const TaskId previous : task.after_previous) {
      if (!in(previous, 0, static_cast<TaskId>(schedule_.tasks.size()))) {
        problem("task {} waits for task {} of the step before, which does not exist", i, previous);
      }
    }
    if (!in(task.source, -1, buffers) || !in(task.destination, -1, buffers) ||
        !in(task.chunk, -1, chunks) ||
        !in(task.parameter, -1, static_cast<std::int32_t>(program_.parameters.size())) ||
        !in(task.micro_batch, -1, schedule_.micro_batches)) {
      problem("task {} names a buffer, chunk, parameter or micro-batch that does not exist", i);
    }
    if (task.kind == TaskKind::kCompute) {
      if (task.first < 0 || task.last < task.first || task.last > operators ||
          task.micro_batch < 0) {
        problem("task {} has no proper operator range", i);
      }
    } else if (!task.releases.empty() || !task.direct.empty()) {
      problem("task {} releases storages or makes gradients but computes nothing", i);
    }
    for (const DirectGradient& direct : task.direct) {
      if (!in(direct.block, -1, buffers) ||
          !in(direct.parameter, 0, static_cast<std::int32_t>(program_.parameters.size()))) {
        problem("task {} makes a gradient that does not exist", i);
      }
    }
    for (const StorageId storage : task.releases) {
      if (!in(storage, 0, static_cast<StorageId>(program_.storages.size()))) {
        problem("task {} releases a storage that does not exist", i);
      }
    }
  }
  if (!problems_.empty()) return false;
  make_clocks();
  return true;
}

void Checker::make_clocks() {
  const auto tasks = static_cast<TaskId>(schedule_.tasks.size());
  std::array<TaskId, kStreamCount> none{};
  none.fill(-1);
  std::array<TaskId, kStreamCount> latest = none;
  for (int step = 0; step < kSteps; ++step) {
    for (const Task& task : schedule_.tasks) {
      std::array<TaskId, kStreamCount> clock = none;
      const auto stream = static_cast<std::size_t>(task.stream);
      const auto merge = [&](TaskId before) {
        for (std::size_t s = 0; s < kStreamCount; ++s) {
          clock[s] = std::max(clock[s], clocks_[before][s]);
        }
      };
      if (latest[stream] >= 0) merge(latest[stream]);
      for (const TaskId before : task.after) merge(step * tasks + before);
      if (step > 0) {
        for (const TaskId previous : task.after_previous) merge((step - 1) * tasks + previous);
      }
      clock[stream] = latest[stream] = step * tasks + task.id;
      clocks_.push_back(clock);
    }
  }
}

TaskId Checker::now(const Task& task) const {
  return step_ * static_cast<TaskId>(schedule_.tasks.size()) + task.id;
}

const Task& Checker::task_of(TaskId in_run) const {
  return schedule_.tasks[static_cast<std::size_t>(in_run) % schedule_.tasks.size()];
}

bool Checker::ordered(TaskId before, TaskId task) const {
  const auto stream = static_cast<std::size_t>(task_of(before).stream);
  return before == task || clocks_[task][stream] >= before;
}

void Checker::touch(const Task& task, std::int64_t what, bool writes, const std::string& name) {
  Touched& touched = touched_[what];
  const auto require_order = [&](TaskId before) {
    if (before >= 0 && !ordered(before, now(task))) {
      const Task& other = task_of(before);
      problem_at(task,
                 "{} {} without waiting for task {} ({}){}",
                 writes ? "writes" : "reads",
                 name,
                 other.id,
                 name_of(other.kind),
                 now(other) == before ? "" : " of the step before");
    }
  };
  require_order(touched.write);
  if (!writes) {
    touched.reads[static_cast<std::size_t>(task.stream)] = now(task);
    return;
  }
  for (const TaskId reader : touched.reads) require_order(reader);
  touched = Touched{};
  touched.write = now(task);
}

void Checker::touch_buffer(const Task& task, BufferId buffer, bool writes) {
  touch(task, buffer, writes, fmt::format("buffer {}", buffer));
}

void Checker::touch_storage(const Task& task, StorageId storage, bool writes) {
  touch(task, (std::int64_t{1} << 40) + storage, writes, fmt::format("storage {}", storage));
}

void Checker::touch_gradient(
    const Task& task, BufferId buffer, std::int32_t parameter, bool writes, int of_step) {
  // A broken schedule may lack the buffer.
  const bool at_home = buffer >= 0 && schedule_.buffers[buffer].role == BufferRole::kGradients;
  const std::int64_t place = at_home ? of_step % kept_gradients(chunk_of_[parameter]) : 0;
  touch(task,
        (std::int64_t{1} << 41) + (place << 56) + (static_cast<std::int64_t>(buffer) << 20) +
            parameter,
        writes,
        fmt::format("gradient of {} in buffer {}", program_.parameters[parameter].name, buffer));
}

void Checker::touch_sums(const Task& task, std::int32_t parameter, bool writes) {
  touch(task,
        (std::int64_t{1} << 59) + parameter,
        writes,
        fmt::format("squares of {}", program_.parameters[parameter].name));
}

}  // namespace elixir::schedule
