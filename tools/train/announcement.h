// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a run prints before its first step: model, plan, data, and the predicted time and memory.

#include <optional>

#include "tools/common/run_tool.h"
#include "tools/train/inputs.h"
#include "tools/train/options.h"
#include "tools/train/prediction.h"
#include "train/run/checkpoint.h"

namespace elixir::tools {

/// This is the result of a dry run. For other runs it is the start of the log. `from`: the
/// checkpoint that the run goes on from.
void announce(const TrainOptions& options,
              const TrainInputs& inputs,
              const Prediction& prediction,
              const std::optional<train::FoundCheckpoint>& from,
              Context& context);

}  // namespace elixir::tools
