// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Checks before the start whether a run fits its plan's budgets.

#include "plan/plan.h"
#include "schedule/memory/run_memory.h"
#include "tools/common/run_tool.h"

namespace elixir::tools {

/// If not, returns kNo and reports the missing bytes on the screen and in the document.
[[nodiscard]] Answer check_memory(const plan::Plan& plan,
                                  const schedule::RunMemory& needed,
                                  Context& context);

}  // namespace elixir::tools
