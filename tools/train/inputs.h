// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Everything that a run reads through flags: plan, model, data, weights. Each is checked against
// the earlier ones. The order is such that mistakes are found as cheaply as possible.

#include <string>
#include <vector>

#include "model/model_file.h"
#include "plan/plan.h"
#include "program/lifetimes.h"
#include "tools/common/run_tool.h"
#include "tools/train/options.h"
#include "train/data/dataset.h"
#include "train/data/label_use.h"
#include "train/run/run_setup.h"

namespace elixir::tools {

struct TrainInputs {
  model::ModelFile model;
  train::RunInputs run;
  program::Program running;      ///< the run's program with the plan's edits
  program::Lifetimes lifetimes;  ///< of `running`
  train::DataFiles data_files;
  std::vector<std::string> held_out_files, weight_files;
  train::Labels labels = train::Labels::kSame;
  train::LabelUse label_use;
};

/// Files that are checked without other files: plan and model.
struct OpenedFiles {
  plan::Plan plan;
  model::ModelFile model;
};
/// A new run takes options that are not given from the plan, where that has them.
[[nodiscard]] OpenedFiles open_files(TrainOptions& options, Context& context);

[[nodiscard]] TrainInputs read_inputs(OpenedFiles files,
                                      const TrainOptions& options,
                                      Context& context);

}  // namespace elixir::tools
