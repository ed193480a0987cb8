// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The work of elixir-profile: captures a step, or one per batch size, writes the profiles and
// reports, and answers whether the step fits.

#include "tools/common/run_tool.h"
#include "tools/profile/options.h"

namespace elixir::tools {

/// Returns kNo when --gpu-memory is given and a requested step does not fit.
[[nodiscard]] Answer run_profile(const ProfileOptions& options, Context& context);

}  // namespace elixir::tools
