// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Lets tests break a trainer, to see that it notices. Not installed; only tests may use it.

#include <cstdint>

#include "runtime/trainer.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

struct TrainerInternals {
  /// Replaces the schedule of later steps, for example by one that lacks a task.
  static void replace_schedule(Trainer& trainer, schedule::Schedule schedule);
  /// Replaces the plan's limit of the device arena.
  static void set_device_limit(Trainer& trainer, std::int64_t bytes);
};

}  // namespace elixir::runtime
