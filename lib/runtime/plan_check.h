// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether a plan can train a program, before anything is allocated for it.

#include "plan/plan.h"
#include "program/program.h"
#include "runtime/trainer_options.h"

namespace elixir::runtime {

/// Throws the error that says what does not fit: the program, the device, the CPU, the number of
/// ranks, the optimizer and its options, or the plan's own budget.
void check_plan(const plan::Plan& plan,
                const program::Program& program,
                const TrainerOptions& options);

}  // namespace elixir::runtime
