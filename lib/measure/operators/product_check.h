// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A matrix product's time against the machine's own product rate: what samples that agree with
// each other cannot tell.

#include <optional>
#include <string>

#include "hardware/hardware_profile.h"
#include "program/program.h"

namespace elixir::measure {

/// "24.0 ms is 143 times what 100 GFLOP/s allow", for a product beyond twenty times of what the
/// rates of the profile allow; nullopt for others, and where the profile has no product rate.
[[nodiscard]] std::optional<std::string> implausible_product(
    const program::Operator& op,
    const hardware::OperatorTime& time,
    const hardware::HardwareProfile& profile);

}  // namespace elixir::measure
