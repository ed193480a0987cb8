// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/step_labels.h"

#include "core/error.h"

namespace elixir::train {

std::vector<double> StepLabels::of(const runtime::MicroBatches& batch,
                                   const RunInputs& inputs,
                                   const runtime::Trainer& trainer) {
  if (plan::average_of(inputs.plan.edits) == plan::Average::kMicroBatches) return {};
  if (!count_) {
    count_ = LabelCount::of(inputs.captured,
                            [&](const std::string& name) { return trainer.buffer(name); });
    require(count_.has_value(), "the plan averages over labels that nothing counts");
  }
  std::vector<double> labels;
  for (const std::vector<at::Tensor>& tensors : batch) labels.push_back(count_->count(tensors));
  return labels;
}

}  // namespace elixir::train
