// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The predicted time and memory of a run, before it starts: from the plan alone, or by simulation
// if the plan's hardware document is available.

#include <optional>

#include "report/screen/step_comparison.h"
#include "schedule/memory/run_memory.h"
#include "schedule/simulate.h"
#include "tools/common/run_tool.h"
#include "tools/train/inputs.h"
#include "tools/train/options.h"

namespace elixir::tools {

struct Prediction {
  report::StepFigures figures;  ///< of one step, including evaluation's own buffers
  schedule::RunMemory memory;
  std::optional<schedule::Simulation> simulation;
};

[[nodiscard]] Prediction predict(const TrainOptions& options,
                                 const TrainInputs& inputs,
                                 Context& context);

}  // namespace elixir::tools
