// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What elixir-train does between its flags and its exit code.

#include "tools/common/run_tool.h"
#include "tools/train/options.h"

namespace elixir::tools {

/// Checks everything before anything is written, says what it will do, trains, compares.
[[nodiscard]] Answer train(const TrainOptions& flags, Context& context);

}  // namespace elixir::tools
