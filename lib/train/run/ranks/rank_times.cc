// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/rank_times.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace elixir::train {

static_assert(std::is_trivially_copyable_v<schedule::TaskTime>, "ranks send its bytes");

void TimedStep::take(runtime::StepReport& report) {
  if (report.tasks.empty()) return;
  step_ns = report.step_ns;
  tasks = std::move(report.tasks);
}

std::vector<TimedStep> gather_times(const TimedStep& own, runtime::Communicator* control) {
  if (control == nullptr) return {own};
  const std::size_t count = own.tasks.size();
  const auto world = static_cast<std::size_t>(control->world());
  std::vector<double> step_ns(world);
  control->all_gather(step_ns.data(), &own.step_ns, sizeof own.step_ns);
  std::vector<schedule::TaskTime> tasks(count * world);
  control->all_gather(tasks.data(),
                      own.tasks.data(),
                      static_cast<std::int64_t>(count * sizeof(schedule::TaskTime)));
  std::vector<TimedStep> by_rank(world);
  for (std::size_t rank = 0; rank < world; ++rank) {
    const auto from = tasks.begin() + static_cast<std::ptrdiff_t>(rank * count);
    by_rank[rank] = {.step_ns = step_ns[rank],
                     .tasks = {from, from + static_cast<std::ptrdiff_t>(count)}};
  }
  return by_rank;
}

}  // namespace elixir::train
