// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What tests change in a trainer to see it notice. Not installed: nobody else may.

#include <cstdint>

#include "runtime/trainer.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

struct TrainerInternals {
  /// Another schedule for the steps to come, such as one that lacks a task.
  static void replace_schedule(Trainer& trainer, schedule::Schedule schedule);
  /// Another limit of the device arena than the plan's.
  static void set_device_limit(Trainer& trainer, std::int64_t bytes);
};

}  // namespace elixir::runtime
