// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Prints a hardware profile for people: the machine, one table of figures with units, and what was
// waived.

#include <string>

#include "hardware/hardware_profile.h"

namespace elixir::tools {

[[nodiscard]] std::string summary_of(const hardware::HardwareProfile& profile);

}  // namespace elixir::tools
