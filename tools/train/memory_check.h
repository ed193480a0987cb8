// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether a run fits its plan's budgets, said before it starts.

#include "plan/plan.h"
#include "schedule/run_memory.h"
#include "tools/common/run_tool.h"

namespace elixir::tools {

/// kNo, and the bytes that are missing on the screen and in the document, when it does not.
[[nodiscard]] Answer check_memory(const plan::Plan& plan,
                                  const schedule::RunMemory& needed,
                                  Context& context);

}  // namespace elixir::tools
