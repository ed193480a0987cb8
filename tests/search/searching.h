// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What tests of the search share: a small model, and what must be true of any plan.

#include <cstdint>

#include "hardware/hardware_profile.h"
#include "plan/plan.h"
#include "program/program.h"
#include "search/search.h"

namespace elixir::search {

program::Program small_transformer(program::DType dtype = program::DType::kFloat32);
program::Program for_cuda(program::Program program);

/// Fails the test where no plan was found.
const Found& found(const Outcome& outcome);

/// Checks that the plan is for the program, lowers to a sound schedule, and keeps budgets and
/// predictions.
void expect_sound(const plan::Plan& plan,
                  const program::Program& captured,
                  const hardware::HardwareProfile& hardware,
                  const Request& request);

/// A plan that moves nothing may be slower, within doubt.
void expect_no_slower(const Found& found, std::int64_t other_ns);

}  // namespace elixir::search
