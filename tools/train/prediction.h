// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a run is expected to take, before it starts: by the plan alone, or, where the hardware
// document of the plan is at hand, by simulation.

#include <optional>

#include "report/screen/step_comparison.h"
#include "schedule/run_memory.h"
#include "schedule/simulate.h"
#include "tools/common/run_tool.h"
#include "tools/train/inputs.h"
#include "tools/train/options.h"

namespace elixir::tools {

struct Prediction {
  report::StepFigures figures;  ///< of one step, with evaluation's own buffers around it
  schedule::RunMemory memory;
  std::optional<schedule::Simulation> simulation;
};

[[nodiscard]] Prediction predict(const TrainOptions& options,
                                 const TrainInputs& inputs,
                                 Context& context);

}  // namespace elixir::tools
