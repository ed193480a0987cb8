// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What tests put between tasks: delays, on the lanes of a device and on its streams.

#include <functional>

#include "schedule/schedule.h"

namespace elixir::runtime {

/// Called on the thread of a task's lane, once the task may begin and before its work. `stream` is
/// the CUDA stream that the work is given to; nullptr for work on the host. Thread-safe.
using TaskHook = std::function<void(const schedule::Task& task, void* stream)>;

}  // namespace elixir::runtime
