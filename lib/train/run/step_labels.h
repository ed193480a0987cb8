// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The labels of a step's micro-batches, for a plan that averages over them.

#include <optional>
#include <vector>

#include "runtime/trainer.h"
#include "train/data/label_count.h"
#include "train/run/run_setup.h"

namespace elixir::train {

class StepLabels {
 public:
  /// Of this rank's `batch` (StepOptions::labels); empty when the plan averages over micro-batches.
  /// `trainer` has the buffers of the run, the same at each call.
  [[nodiscard]] std::vector<double> of(const runtime::MicroBatches& batch,
                                       const RunInputs& inputs,
                                       const runtime::Trainer& trainer);

 private:
  std::optional<LabelCount> count_;
};

}  // namespace elixir::train
