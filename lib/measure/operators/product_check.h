// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Compares the time of a matrix product with the machine's own product rate. This finds errors that
// samples cannot show, because they agree with each other.

#include <optional>
#include <string>

#include "hardware/hardware_profile.h"
#include "program/program.h"

namespace elixir::measure {

/// "24.0 ms is 143 times what 100 GFLOP/s allow", when a product is more than twenty times slower
/// than the profile's rates allow. nullopt for other operators, and when the profile has no product
/// rate.
[[nodiscard]] std::optional<std::string> implausible_product(
    const program::Operator& op,
    const hardware::OperatorTime& time,
    const hardware::HardwareProfile& profile);

}  // namespace elixir::measure
