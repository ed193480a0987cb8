// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/training_state.h"

#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "train/run/shards/shard_index.h"

namespace elixir::train {
namespace {

using runtime::HeldElements;
using runtime::StatePart;

/// A part of the optimizer's state that is saved.
struct SavedPart {
  const program::Parameter& parameter;
  StatePart part;
  [[nodiscard]] std::string name() const {
    return fmt::format("{}/{}", parameter.name, name_of(part));
  }
};

std::vector<SavedPart> optimizer_parts(const program::Program& program, const plan::Plan& plan) {
  std::vector<SavedPart> parts;
  for (const program::Parameter& parameter : program.parameters) {
    const bool trained = parameter.requires_grad && parameter.gradient.has_value();
    if (!trained || plan.optimizer == program::Optimizer::kNone) continue;
    if (parameter.tensor.dtype != program::DType::kFloat32) {
      parts.push_back({parameter, StatePart::kMaster});
    }
    parts.push_back({parameter, StatePart::kMoment1});
    parts.push_back({parameter, StatePart::kMoment2});
  }
  return parts;
}

StateTensor whole_part(LedTrainer& trainer,
                       const program::Parameter& parameter,
                       StatePart part,
                       std::string name,
                       program::DType dtype) {
  return {std::move(name),
          dtype,
          parameter.tensor.sizes,
          [&trainer, parameter_name = parameter.name, part] {
            return trainer.state(parameter_name, part);
          }};
}

StateShard shard_of_part(runtime::Trainer& trainer,
                         int rank,
                         const program::Parameter& parameter,
                         StatePart part,
                         std::string name,
                         program::DType dtype) {
  StateShard shard;
  shard.name = std::move(name);
  shard.dtype = dtype;
  shard.sizes = parameter.tensor.sizes;
  shard.strides = parameter.tensor.strides;
  for (int other = 0; other < trainer.plan().world; ++other) {
    shard.saved.push_back(trainer.held(parameter.name, other));
  }
  shard.needed = shard.saved[static_cast<std::size_t>(rank)];
  shard.read = [&trainer, parameter_name = parameter.name, part] {
    return trainer.own_state(parameter_name, part);
  };
  shard.write = [&trainer, parameter_name = parameter.name, part](const at::Tensor& value) {
    trainer.set_own_state(parameter_name, part, value);
  };
  return shard;
}

/// Every rank has all of it, and the same.
StateShard shard_of_buffer(runtime::Trainer& trainer, const program::Buffer& buffer) {
  const HeldElements all{0, buffer.tensor.numel()};
  StateShard shard;
  shard.name = buffer.name;
  shard.dtype = buffer.tensor.dtype;
  shard.sizes = buffer.tensor.sizes;
  shard.strides = row_major(shard.sizes);
  shard.saved.resize(static_cast<std::size_t>(trainer.plan().world));
  shard.saved.front() = all;
  shard.needed = all;
  shard.read = [&trainer, name = buffer.name] {
    return trainer.buffer(name).contiguous().view({-1});
  };
  shard.write = [&trainer, name = buffer.name, sizes = shard.sizes](const at::Tensor& value) {
    trainer.set_buffer(name, value.view(sizes));
  };
  return shard;
}

}  // namespace

TrainingState training_state_of(LedTrainer& trainer) {
  TrainingState state;
  for (const program::Parameter& parameter : trainer.program().parameters) {
    state.model.push_back(whole_part(
        trainer, parameter, StatePart::kParameter, parameter.name, parameter.tensor.dtype));
  }
  for (const program::Buffer& buffer : trainer.program().buffers) {
    if (!buffer.mutated) continue;
    state.model.push_back(
        {buffer.name, buffer.tensor.dtype, buffer.tensor.sizes, [&trainer, name = buffer.name] {
           return trainer.buffer(name);
         }});
  }
  for (const SavedPart& each : optimizer_parts(trainer.program(), trainer.plan())) {
    state.optimizer.push_back(
        whole_part(trainer, each.parameter, each.part, each.name(), program::DType::kFloat32));
  }
  return state;
}

std::vector<StateShard> shards_of(runtime::Trainer& trainer, int rank) {
  std::vector<StateShard> shards;
  for (const program::Parameter& parameter : trainer.program().parameters) {
    shards.push_back(shard_of_part(
        trainer, rank, parameter, StatePart::kParameter, parameter.name, parameter.tensor.dtype));
  }
  for (const program::Buffer& buffer : trainer.program().buffers) {
    if (buffer.mutated) shards.push_back(shard_of_buffer(trainer, buffer));
  }
  // After the parameters, because setting a parameter sets its master without the low bits.
  for (const SavedPart& each : optimizer_parts(trainer.program(), trainer.plan())) {
    shards.push_back(shard_of_part(
        trainer, rank, each.parameter, each.part, each.name(), program::DType::kFloat32));
  }
  return shards;
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
