// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The options of a training run, from the flags of elixir-train.

#include "runtime/ranks/communicator.h"
#include "tools/common/run_tool.h"
#include "tools/train/options.h"
#include "train/run/run_setup.h"

namespace elixir::tools {

[[nodiscard]] train::RunOptions run_options(const TrainOptions& options,
                                            const runtime::Ranks& ranks,
                                            const Context& context);

}  // namespace elixir::tools
