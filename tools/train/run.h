// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The work of elixir-train between parsing its flags and returning its exit code.

#include "tools/common/run_tool.h"
#include "tools/train/options.h"

namespace elixir::tools {

/// Checks everything before it writes anything, announces the run, trains, compares.
[[nodiscard]] Answer train(const TrainOptions& flags, Context& context);

}  // namespace elixir::tools
