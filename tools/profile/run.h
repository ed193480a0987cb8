// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What elixir-profile does: captures a step, or one for each batch size, writes the profiles and
// reports, and answers whether it fits.

#include "tools/common/run_tool.h"
#include "tools/profile/options.h"

namespace elixir::tools {

/// kNo when --gpu-memory is given and a step that was asked for does not fit.
[[nodiscard]] Answer run_profile(const ProfileOptions& options, Context& context);

}  // namespace elixir::tools
