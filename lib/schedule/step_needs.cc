// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/step_needs.h"

#include "core/error.h"

namespace elixir::schedule {
namespace {

using program::OperatorId;

void note_parameter_uses(StepNeeds& needs, const program::Lifetimes& lifetimes) {
  const auto operators = static_cast<OperatorId>(needs.operators.size());
  for (OperatorId op = 0; op < operators; ++op) {
    if (!needs.executed[op] || !needs.runs[op]) continue;
    for (const std::int32_t parameter : lifetimes.parameters_used[op]) {
      ChunkNeeds& chunk = needs.chunks[needs.places[parameter].chunk];
      chunk.last_use = op;
      if (chunk.first_use < 0) chunk.first_use = op;
    }
  }
  for (std::size_t c = 0; c < needs.chunks.size(); ++c) {
    const OperatorId last = needs.chunks[c].last_use;
    if (last >= 0) needs.operators[last].chunks_last_used.push_back(static_cast<std::int32_t>(c));
  }
}

void note_gradients(StepNeeds& needs,
                    const program::Program& program,
                    const program::Lifetimes& lifetimes) {
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const auto& gradient = program.parameters[i].gradient;
    if (!gradient) continue;
    const OperatorId ready = lifetimes.gradient_ready[i];
    require(ready >= 0, "a gradient is never made");
    needs.operators[ready].gradients_ready.push_back(static_cast<std::int32_t>(i));
    if (needs.gradients_in[gradient->storage]++ == 0) {
      needs.operators[lifetimes.storages[gradient->storage].last_use].gradients_last_used.push_back(
          gradient->storage);
    }
    ChunkNeeds& chunk = needs.chunks[needs.places[i].chunk];
    if (chunk.trained) ++chunk.gradients;
  }
}

/// The last call that makes or writes the loss.
OperatorId loss_ready(const StepNeeds& needs, const program::Program& program) {
  OperatorId ready = -1;
  if (program.loss.storage < 0) return ready;
  for (const program::Operator& op : program.operators) {
    if (!needs.executed[op.id] || !needs.runs[op.id]) continue;
    program::for_each_tensor(op.outputs, [&](const program::TensorRef& tensor) {
      if (tensor.storage == program.loss.storage && tensor.version <= program.loss.version) {
        ready = op.id;
      }
    });
  }
  return ready;
}

}  // namespace

StepNeeds step_needs(const program::Program& program,
                     const program::Lifetimes& lifetimes,
                     const plan::Plan& plan,
                     bool training) {
  StepNeeds needs{.training = training,
                  .places = plan::locate_parameters(plan, program),
                  .chunks = std::vector<ChunkNeeds>(plan.chunks.size()),
                  .operators = std::vector<OperatorNeeds>(program.operators.size()),
                  .gradients_in = std::vector<int>(program.storages.size(), 0)};
  for (const program::Operator& op : program.operators) {
    needs.executed.push_back(lifetimes.executed[op.id]);
    needs.runs.push_back(training || op.phase == program::Phase::kForward);
  }
  if (training && plan.optimizer != program::Optimizer::kNone) {
    for (std::size_t i = 0; i < program.parameters.size(); ++i) {
      if (program.parameters[i].gradient) needs.chunks[needs.places[i].chunk].trained = true;
    }
  }
  note_parameter_uses(needs, lifetimes);
  needs.loss_ready = loss_ready(needs, program);
  if (training) note_gradients(needs, program, lifetimes);
  return needs;
}

}  // namespace elixir::schedule
