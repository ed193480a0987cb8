// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a run says before its first step: what it trains, by which plan, on what, and what that is
// predicted to take.

#include <cstdint>

#include "tools/common/run_tool.h"
#include "tools/train/inputs.h"
#include "tools/train/options.h"
#include "tools/train/prediction.h"

namespace elixir::tools {

/// The result of a dry run; of any other the first lines of its log.
void announce(const TrainOptions& options,
              const TrainInputs& inputs,
              const Prediction& prediction,
              std::int64_t first_step,
              Context& context);

}  // namespace elixir::tools
