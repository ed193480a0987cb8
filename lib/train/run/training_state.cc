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

using runtime::StatePart;

/// A tensor of the state: a part of a parameter's, or a buffer.
struct SavedTensor {
  std::string name;
  program::DType dtype;
  const program::TensorRef& geometry;
  const program::Parameter* parameter = nullptr;
  StatePart part = StatePart::kParameter;
  const program::Buffer* buffer = nullptr;
};

std::string name_of_state(const program::Parameter& parameter, StatePart part) {
  return fmt::format("{}/{}", parameter.name, name_of(part));
}

/// Whether a checkpoint holds it: a state_dict has it, or the next step needs what this one wrote.
bool is_saved(const program::Buffer& buffer) {
  return buffer.persistent || buffer.mutated;
}

/// In the order in which they can be restored.
std::vector<SavedTensor> saved_tensors(const program::Program& program, const plan::Plan& plan) {
  std::vector<SavedTensor> tensors;
  for (const program::Parameter& parameter : program.parameters) {
    tensors.push_back({parameter.name, parameter.tensor.dtype, parameter.tensor, &parameter});
  }
  for (const program::Buffer& buffer : program.buffers) {
    if (!is_saved(buffer)) continue;
    tensors.push_back({buffer.name, buffer.tensor.dtype, buffer.tensor});
    tensors.back().buffer = &buffer;
  }
  for (const program::Parameter& parameter : program.parameters) {
    const bool trained = parameter.requires_grad && parameter.gradient.has_value();
    if (!trained || plan.optimizer == program::Optimizer::kNone) continue;
    const auto add = [&](StatePart part) {
      tensors.push_back({name_of_state(parameter, part),
                         program::DType::kFloat32,
                         parameter.tensor,
                         &parameter,
                         part});
    };
    // Must come after the parameter, because setting the parameter sets the master without its low
    // bits.
    if (parameter.tensor.dtype != program::DType::kFloat32) add(StatePart::kMaster);
    add(StatePart::kMoment1);
    add(StatePart::kMoment2);
  }
  return tensors;
}

StateShard described(const SavedTensor& tensor) {
  StateShard shard;
  shard.name = tensor.name;
  shard.dtype = tensor.dtype;
  shard.sizes = tensor.geometry.sizes;
  // A buffer may be a part of a larger storage.
  shard.strides = tensor.buffer == nullptr ? tensor.geometry.strides : row_major(shard.sizes);
  return shard;
}

void add_parameter(StateShard& shard,
                   const SavedTensor& tensor,
                   runtime::Trainer& trainer,
                   int rank) {
  for (int other = 0; other < trainer.plan().world; ++other) {
    shard.saved.push_back(trainer.saved(tensor.parameter->name, other));
  }
  shard.needed = trainer.held(tensor.parameter->name, rank);
  shard.read = [&trainer,
                name = tensor.parameter->name,
                part = tensor.part,
                first = shard.needed.first,
                saved = shard.saved[static_cast<std::size_t>(rank)]] {
    return trainer.own_state(name, part).narrow(0, saved.first - first, saved.count);
  };
  shard.write = [&trainer, name = tensor.parameter->name, part = tensor.part](
                    const at::Tensor& value) { trainer.set_own_state(name, part, value); };
}

/// Every rank has all of it, and the same.
void add_buffer(StateShard& shard, const SavedTensor& tensor, runtime::Trainer& trainer) {
  shard.needed = {0, tensor.geometry.numel()};
  shard.saved.resize(static_cast<std::size_t>(trainer.plan().world));
  shard.saved.front() = shard.needed;
  shard.read = [&trainer, name = tensor.name] {
    return trainer.buffer(name).contiguous().view({-1});
  };
  shard.write = [&trainer, name = tensor.name, sizes = shard.sizes](const at::Tensor& value) {
    trainer.set_buffer(name, value.view(sizes));
  };
}

StateTensor whole_part(LedTrainer& trainer, const program::Parameter& parameter, StatePart part) {
  const bool itself = part == StatePart::kParameter;
  return {itself ? parameter.name : name_of_state(parameter, part),
          itself ? parameter.tensor.dtype : program::DType::kFloat32,
          parameter.tensor.sizes,
          [&trainer, name = parameter.name, part] { return trainer.state(name, part); }};
}

StateTensor whole_buffer(LedTrainer& trainer, const program::Buffer& buffer) {
  return {buffer.name, buffer.tensor.dtype, buffer.tensor.sizes, [&trainer, name = buffer.name] {
            return trainer.buffer(name);
          }};
}

}  // namespace

TrainingState training_state_of(LedTrainer& trainer) {
  TrainingState state;
  for (const SavedTensor& tensor : saved_tensors(trainer.program(), trainer.plan())) {
    const bool of_model =
        tensor.buffer != nullptr ? tensor.buffer->persistent : tensor.part == StatePart::kParameter;
    (of_model ? state.model : state.optimizer)
        .push_back(tensor.buffer != nullptr ? whole_buffer(trainer, *tensor.buffer)
                                            : whole_part(trainer, *tensor.parameter, tensor.part));
  }
  return state;
}

std::vector<StateTensor> model_tensors(LedTrainer& trainer, Buffers wanted) {
  std::vector<StateTensor> tensors;
  for (const program::Parameter& parameter : trainer.program().parameters) {
    tensors.push_back(whole_part(trainer, parameter, StatePart::kParameter));
  }
  for (const program::Buffer& buffer : trainer.program().buffers) {
    if (wanted == Buffers::kAll || buffer.persistent) {
      tensors.push_back(whole_buffer(trainer, buffer));
    }
  }
  return tensors;
}

std::vector<StateShard> shards_of(runtime::Trainer& trainer, int rank) {
  std::vector<StateShard> shards;
  for (const SavedTensor& tensor : saved_tensors(trainer.program(), trainer.plan())) {
    shards.push_back(described(tensor));
    if (tensor.buffer != nullptr) {
      add_buffer(shards.back(), tensor, trainer);
    } else {
      add_parameter(shards.back(), tensor, trainer, rank);
    }
  }
  return shards;
}

std::vector<StateShard> described_state(const program::Program& program, const plan::Plan& plan) {
  std::vector<StateShard> shards;
  for (const SavedTensor& tensor : saved_tensors(program, plan)) {
    shards.push_back(described(tensor));
  }
  return shards;
}

runtime::TensorSource without_checkpointed(const program::Program& program,
                                           runtime::TensorSource source) {
  std::set<std::string> held;
  for (const program::Parameter& parameter : program.parameters) held.insert(parameter.name);
  for (const program::Buffer& buffer : program.buffers) {
    if (is_saved(buffer)) held.insert(buffer.name);
  }
  return [held = std::move(held), source = std::move(source)](const std::string& name) {
    return held.count(name) != 0 ? at::Tensor() : source(name);
  };
}

}  // namespace elixir::train
