// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A critical path in words.

#include <optional>
#include <string>
#include <string_view>

#include "plan/plan.h"
#include "schedule/simulate/critical_path.h"

namespace elixir::report {

/// "compute 47 %, cpu 39 %, idle 3 %": shares of the path, the largest first. A share that would be
/// 0 % is left out.
[[nodiscard]] std::string shares_of(const schedule::CriticalPath& path);

/// The predicted one. nullopt for the CPU device and in older plans.
[[nodiscard]] std::optional<schedule::CriticalPath> critical_path_of(
    const plan::Predicted& predicted);

/// "host-to-device", of what documents call a stream.
[[nodiscard]] std::string name_for_people(std::string_view stream);

}  // namespace elixir::report
