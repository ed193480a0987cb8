// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Other issue orders of a schedule, for tests: what a step computes must not depend on which of the
// orders that its streams and dependencies allow is the one that was lowered.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "schedule/schedule.h"

namespace elixir::fakes {

/// The schedule with its tasks in a random order. Every stream keeps its own order, and every task
/// comes after those in its `after`. Ids are positions again. The seed also chooses which streams
/// run ahead of others.
inline schedule::Schedule reordered(const schedule::Schedule& original, std::uint64_t seed) {
  using schedule::TaskId;
  std::mt19937_64 random(seed);
  std::array<std::vector<TaskId>, schedule::kStreamCount> streams;  // tasks, in order
  for (const schedule::Task& task : original.tasks) {
    streams.at(static_cast<std::size_t>(task.stream)).push_back(task.id);
  }
  std::array<std::uint64_t, schedule::kStreamCount> weights{};
  for (std::uint64_t& weight : weights) weight = std::array{1, 8, 64}.at(random() % 3);
  std::array<std::size_t, schedule::kStreamCount> next{};
  std::vector<TaskId> new_ids(original.tasks.size(), -1);
  schedule::Schedule result = original;
  result.tasks.clear();
  while (result.tasks.size() < original.tasks.size()) {
    std::vector<std::size_t> choices;  // a stream once for each unit of its weight
    for (std::size_t stream = 0; stream < streams.size(); ++stream) {
      if (next[stream] == streams[stream].size()) continue;
      const schedule::Task& task = original.tasks[streams[stream][next[stream]]];
      const bool ready = std::all_of(task.after.begin(), task.after.end(), [&](TaskId before) {
        return new_ids[before] >= 0;
      });
      if (ready) choices.insert(choices.end(), weights[stream], stream);
    }
    if (choices.empty()) throw std::runtime_error("the schedule has a cycle");
    const std::size_t stream = choices[random() % choices.size()];
    const TaskId task = streams[stream][next[stream]++];
    new_ids[task] = static_cast<TaskId>(result.tasks.size());
    result.tasks.push_back(original.tasks[task]);
  }
  for (schedule::Task& task : result.tasks) {
    task.id = new_ids[task.id];
    for (TaskId& before : task.after) before = new_ids[before];
    for (TaskId& previous : task.after_previous) previous = new_ids[previous];
    std::sort(task.after.begin(), task.after.end());
    std::sort(task.after_previous.begin(), task.after_previous.end());
  }
  return result;
}

/// One entry of a task's `after`, or of its `after_previous`.
struct Dependency {
  schedule::TaskId task = -1, on = -1;
  bool previous = false;
};

inline std::vector<Dependency> dependencies(const schedule::Schedule& schedule) {
  std::vector<Dependency> all;
  for (const schedule::Task& task : schedule.tasks) {
    for (const schedule::TaskId on : task.after) all.push_back({task.id, on, false});
    for (const schedule::TaskId on : task.after_previous) all.push_back({task.id, on, true});
  }
  return all;
}

inline schedule::Schedule without(schedule::Schedule schedule, const Dependency& dependency) {
  schedule::Task& task = schedule.tasks.at(dependency.task);
  std::erase(dependency.previous ? task.after_previous : task.after, dependency.on);
  return schedule;
}

}  // namespace elixir::fakes
