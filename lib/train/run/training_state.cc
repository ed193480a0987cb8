// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/training_state.h"

#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elixir::train {
namespace {

StateTensor of_parameter(LedTrainer& trainer,
                         const program::Parameter& parameter,
                         runtime::StatePart part,
                         const std::string& name,
                         program::DType dtype) {
  const std::string parameter_name = parameter.name;
  return {name,
          dtype,
          parameter.tensor.sizes,
          [&trainer, parameter_name, part] { return trainer.state(parameter_name, part); },
          [&trainer, parameter_name, part](const at::Tensor& value) {
            trainer.set_state(parameter_name, part, value);
          }};
}

}  // namespace

TrainingState training_state_of(LedTrainer& trainer) {
  TrainingState state;
  for (const program::Parameter& parameter : trainer.program().parameters) {
    state.model.push_back(of_parameter(trainer,
                                       parameter,
                                       runtime::StatePart::kParameter,
                                       parameter.name,
                                       parameter.tensor.dtype));
  }
  for (const program::Buffer& buffer : trainer.program().buffers) {
    if (!buffer.mutated) continue;
    const std::string name = buffer.name;
    state.model.push_back(
        {name,
         buffer.tensor.dtype,
         buffer.tensor.sizes,
         [&trainer, name] { return trainer.buffer(name); },
         [&trainer, name](const at::Tensor& value) { trainer.set_buffer(name, value); }});
  }
  for (const program::Parameter& parameter : trainer.program().parameters) {
    const bool trained = parameter.requires_grad && parameter.gradient.has_value();
    if (!trained || trainer.plan().optimizer == program::Optimizer::kNone) continue;
    const auto add = [&](runtime::StatePart part) {
      state.optimizer.push_back(of_parameter(trainer,
                                             parameter,
                                             part,
                                             fmt::format("{}/{}", parameter.name, name_of(part)),
                                             program::DType::kFloat32));
    };
    // Must come after the parameter, because setting the parameter sets the master without its low
    // bits.
    if (parameter.tensor.dtype != program::DType::kFloat32) add(runtime::StatePart::kMaster);
    add(runtime::StatePart::kMoment1);
    add(runtime::StatePart::kMoment2);
  }
  return state;
}

runtime::TensorSource without_checkpointed(const program::Program& program,
                                           runtime::TensorSource source) {
  std::set<std::string> held;
  for (const program::Parameter& parameter : program.parameters) held.insert(parameter.name);
  for (const program::Buffer& buffer : program.buffers) {
    if (buffer.mutated) held.insert(buffer.name);
  }
  return [held = std::move(held), source = std::move(source)](const std::string& name) {
    return held.count(name) != 0 ? at::Tensor() : source(name);
  };
}

}  // namespace elixir::train
