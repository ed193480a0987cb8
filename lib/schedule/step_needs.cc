// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/step_needs.h"

#include <algorithm>

#include "core/error.h"
#include "operators/out_variant.h"

namespace elixir::schedule {
namespace {

using program::OperatorId;

/// As ProgramNeeds::gradient_is_product, for a gradient that `op` completes.
bool is_product_alone(const program::TensorRef& gradient,
                      const program::Operator& op,
                      const ProgramNeeds& needs,
                      const program::Program& program,
                      const program::Lifetimes& lifetimes) {
  const program::StorageUse& use = lifetimes.storages[gradient.storage];
  return operators::has_out_variant(op) && use.producer == op.id && use.last_use == op.id &&
         needs.gradients_in[gradient.storage] == 1 && gradient.offset == 0 &&
         gradient.bytes() == program.storages[gradient.storage].bytes;
}

void note_gradients(ProgramNeeds& needs,
                    const program::Program& program,
                    const program::Lifetimes& lifetimes) {
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const auto& gradient = program.parameters[i].gradient;
    if (!gradient) continue;
    require(lifetimes.gradient_ready[i] >= 0, "a gradient is never made");
    needs.gradients_ready[lifetimes.gradient_ready[i]].push_back(static_cast<std::int32_t>(i));
    needs.ends_gradients[lifetimes.storages[gradient->storage].last_use] = true;
    needs.gradient_elements[i] = gradient->numel();
    ++needs.gradients_in[gradient->storage];
  }
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const auto& gradient = program.parameters[i].gradient;
    if (!gradient) continue;
    const program::Operator& op = program.operators[lifetimes.gradient_ready[i]];
    needs.gradient_is_product[i] = is_product_alone(*gradient, op, needs, program, lifetimes);
  }
}

void note_left_over(ProgramNeeds& needs,
                    const program::Program& program,
                    const program::Lifetimes& lifetimes) {
  for (const program::Storage& storage : program.storages) {
    const program::StorageUse& use = lifetimes.storages[storage.id];
    const bool made =
        use.origin == program::Origin::kProduced && use.producer >= 0 && needs.runs[use.producer];
    if (!made) continue;
    if (!needs.runs[use.last_use] || storage.id == program.loss.storage ||
        needs.gradients_in[storage.id] > 0) {
      needs.left_over.push_back(storage.id);
    }
  }
}

/// The last call that makes or writes the loss.
OperatorId loss_ready(const ProgramNeeds& needs, const program::Program& program) {
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

/// The last call that reads an input.
OperatorId inputs_last_read(const ProgramNeeds& needs, const program::Program& program) {
  std::vector<bool> is_input(program.storages.size(), false);
  for (const program::Input& input : program.inputs) is_input[input.tensor.storage] = true;
  OperatorId last = -1;
  for (const program::Operator& op : program.operators) {
    if (!needs.executed[op.id] || !needs.runs[op.id]) continue;
    program::for_each_tensor(op.arguments, [&](const program::TensorRef& tensor) {
      if (is_input[tensor.storage]) last = op.id;
    });
  }
  return last;
}

void note_changed_buffers(ProgramNeeds& needs, const program::Program& program) {
  std::vector<bool> changes(program.storages.size(), false);
  for (const program::Buffer& buffer : program.buffers) {
    if (buffer.mutated) changes[buffer.tensor.storage] = true;
  }
  for (const program::Operator& op : program.operators) {
    if (!needs.executed[op.id] || !needs.runs[op.id]) continue;
    const auto note = [&](const program::TensorRef& tensor) {
      if (!changes[tensor.storage]) return;
      if (needs.buffers_first_use < 0) needs.buffers_first_use = op.id;
      needs.buffers_last_use = op.id;
    };
    program::for_each_tensor(op.arguments, note);
    program::for_each_tensor(op.outputs, note);
  }
}

}  // namespace

ProgramNeeds program_needs(const program::Program& program,
                           const program::Lifetimes& lifetimes,
                           bool training) {
  const std::size_t operators = program.operators.size();
  ProgramNeeds needs{.training = training,
                     .executed = lifetimes.executed,
                     .gradients_ready = std::vector<std::vector<std::int32_t>>(operators),
                     .ends_gradients = std::vector<bool>(operators, false),
                     .gradients_in = std::vector<int>(program.storages.size(), 0),
                     .gradient_elements = std::vector<std::int64_t>(program.parameters.size(), 0),
                     .gradient_is_product = std::vector<bool>(program.parameters.size(), false)};
  for (const program::Operator& op : program.operators) {
    const bool runs = training || op.phase == program::Phase::kForward;
    needs.runs.push_back(runs);
    needs.movements.push_back(training ? operators::movement_of(op.name)
                                       : operators::Movement::kNone);
    const bool reads = needs.executed[op.id] && runs && !lifetimes.parameters_used[op.id].empty();
    if (reads) needs.readers.push_back(op.id);
  }
  needs.loss_ready = loss_ready(needs, program);
  needs.inputs_last_read = inputs_last_read(needs, program);
  if (training) note_changed_buffers(needs, program);
  if (training) note_gradients(needs, program, lifetimes);
  note_left_over(needs, program, lifetimes);
  for (OperatorId op = 0; op < static_cast<OperatorId>(operators); ++op) {
    const bool stops =
        needs.ends_gradients[op] || !needs.gradients_ready[op].empty() || op == needs.loss_ready ||
        needs.movements[op] != operators::Movement::kNone || !lifetimes.parameters_used[op].empty();
    needs.stops.push_back(needs.executed[op] && needs.runs[op] && stops);
  }
  return needs;
}

StepNeeds step_needs(const program::Program& program,
                     const program::Lifetimes& lifetimes,
                     const ProgramNeeds& needs,
                     const plan::Plan& plan,
                     const std::vector<plan::Place>& places) {
  StepNeeds result{.chunks = std::vector<ChunkNeeds>(plan.chunks.size())};
  const auto chunk_of = [&](std::size_t parameter) -> ChunkNeeds& {
    return result.chunks[places[parameter].chunk];
  };
  const bool trains = needs.training && plan.optimizer != program::Optimizer::kNone;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    if (!trains || !program.parameters[i].gradient) continue;
    chunk_of(i).trained = true;
    ++chunk_of(i).gradients;
  }
  for (const OperatorId op : needs.readers) {
    for (const std::int32_t parameter : lifetimes.parameters_used[op]) {
      ChunkNeeds& chunk = chunk_of(parameter);
      chunk.last_use = op;
      if (chunk.first_use < 0) chunk.first_use = op;
    }
  }
  for (std::size_t c = 0; c < result.chunks.size(); ++c) {
    const OperatorId last = result.chunks[c].last_use;
    if (last >= 0) result.last_uses.push_back({last, static_cast<std::int32_t>(c)});
  }
  std::sort(result.last_uses.begin(), result.last_uses.end());
  return result;
}

}  // namespace elixir::schedule
