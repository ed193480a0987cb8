// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/step_labels.h"

#include <string>
#include <utility>

namespace elixir::train {

std::vector<double> StepLabels::of(const runtime::MicroBatches& batch,
                                   const RunInputs& inputs,
                                   const runtime::Trainer& trainer) {
  const plan::Plan& plan = inputs.plan;
  const bool several = plan.accumulation_steps * plan.world > 1;
  if (several && plan::average_of(plan.edits) == plan::Average::kMicroBatches) return {};
  if (!std::exchange(looked_, true)) {
    count_ = LabelCount::of(inputs.captured,
                            [&](const std::string& name) { return trainer.buffer(name); });
  }
  if (!count_) return {};
  std::vector<double> labels;
  for (const std::vector<at::Tensor>& tensors : batch) labels.push_back(count_->count(tensors));
  return labels;
}

}  // namespace elixir::train
