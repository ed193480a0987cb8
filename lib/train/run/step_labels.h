// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The labels of a step's micro-batches, where its loss is a mean over them. A step without labels
// has no gradient and a loss of 0, as sum / max(labels, 1) gives.

#include <optional>
#include <vector>

#include "runtime/trainer.h"
#include "train/data/label_count.h"
#include "train/run/run_setup.h"

namespace elixir::train {

class StepLabels {
 public:
  /// How many labels each micro-batch of this rank's `batch` has (StepOptions::labels); empty when
  /// micro-batches count alike. `trainer` has the buffers of the run, the same at each call.
  [[nodiscard]] std::vector<double> of(const runtime::MicroBatches& batch,
                                       const RunInputs& inputs,
                                       const runtime::Trainer& trainer);

 private:
  bool looked_ = false;  ///< for what counts
  std::optional<LabelCount> count_;
};

}  // namespace elixir::train
