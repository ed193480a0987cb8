// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/rank_times.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace elixir::train {

static_assert(std::is_trivially_copyable_v<schedule::TaskTime>, "ranks send its bytes");

std::vector<TaskTimes> gather_times(const TaskTimes& own, runtime::Communicator* control) {
  if (control == nullptr) return {own};
  const std::size_t count = own.size();
  const auto world = static_cast<std::size_t>(control->world());
  TaskTimes all(count * world);
  control->all_gather(
      all.data(), own.data(), static_cast<std::int64_t>(count * sizeof(schedule::TaskTime)));
  std::vector<TaskTimes> by_rank;
  for (std::size_t rank = 0; rank < world; ++rank) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(rank * count);
    by_rank.emplace_back(from, from + static_cast<std::ptrdiff_t>(count));
  }
  return by_rank;
}

}  // namespace elixir::train
