// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What each rank did last, in the directory of a run that has failed: RUN/last-tasks/rank-N.json
// (`elixir.last_tasks`). Each rank writes its own.

#include <string>
#include <vector>

#include "core/directory.h"
#include "core/error.h"
#include "core/json.h"
#include "runtime/ranks/task_recorder.h"

namespace elixir::train {

inline constexpr const char* kLastTasks = "last-tasks";

[[nodiscard]] Json last_tasks_document(const runtime::TaskRecorder& recorder,
                                       int rank,
                                       int world,
                                       const ErrorInfo& error,
                                       const Json& meta);

/// Only if `run` is the directory of a run. Never throws: there is an error already.
void write_last_tasks(const Directory& run,
                      const runtime::TaskRecorder& recorder,
                      int rank,
                      int world,
                      const ErrorInfo& error,
                      const Json& meta) noexcept;

/// Those of an earlier failure.
void remove_last_tasks(const Directory& run) noexcept;

}  // namespace elixir::train
