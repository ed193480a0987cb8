// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Tasks of the executor that update chunks, where their optimizer state is or in pieces of it that
// pass through the device.
#include "runtime/step/executor.h"

#include <cstddef>
#include <cstdint>

#include "runtime/state/element.h"

namespace elixir::runtime {
namespace {

using schedule::Task;
using schedule::TaskKind;

}  // namespace

OptimizerPass::Chunk Executor::arrays_at_home(const Task& task) const {
  const plan::Plan& plan = parts_.plan;
  const plan::Chunk& chunk = plan.chunks[task.chunk];
  const HomeMemory& home = homes_[task.chunk];
  const auto at = [&](void* memory, std::int64_t width) {
    return advance(memory, task.first_element * width);
  };
  const std::int64_t moment_bytes = program::element_bytes(plan.moment_dtype);
  return {.master = at(plan::master_is_parameter(chunk) ? home.parameters : home.master,
                       plan::master_bytes(plan, chunk)),
          .splits = plan::splits_master(plan, chunk),
          .moment1 = at(home.moment1, moment_bytes),
          .moment2 = at(home.moment2, moment_bytes),
          .moment_type = plan.moment_dtype,
          .gradients = at(home.gradients, program::element_bytes(chunk.gradient_dtype)),
          .gradient_type = chunk.gradient_dtype,
          .parameters = at(home.parameters, program::element_bytes(chunk.dtype)),
          .parameter_type = chunk.dtype,
          .first_element = task.first_element,
          .elements = task.elements,
          .turns = plan::kept_gradients(plan, chunk),
          .turn_bytes = plan::shard_bytes(plan, chunk, chunk.gradient_dtype)};
}

OptimizerPass::Chunk Executor::arrays_of_piece(const Task& task, schedule::BufferId piece) const {
  void* memory = parts_.buffers.at(piece);
  OptimizerPass::Chunk arrays = arrays_at_home(task);
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  arrays.master = advance(memory, piece_layout_.master);
  arrays.moment1 = advance(memory, piece_layout_.moment1);
  arrays.moment2 = advance(memory, piece_layout_.moment2);
  if (chunk.gradient_home == plan::Home::kHost) {
    arrays.gradients = advance(memory, piece_layout_.gradients);
    arrays.turns = 1;
  }
  if (chunk.parameter_home == plan::Home::kHost) {
    arrays.parameters = chunk.dtype == program::DType::kFloat32
                            ? arrays.master
                            : advance(memory, piece_layout_.parameters);
  }
  return arrays;
}

TaskCopies Executor::state_copies(const Task& task,
                                  const OptimizerPass::Chunk& to,
                                  const OptimizerPass::Chunk& from) const {
  const plan::Plan& plan = parts_.plan;
  const std::int64_t n = task.elements;
  const std::int64_t moment_bytes = n * program::element_bytes(plan.moment_dtype);
  TaskCopies copies;
  copies.add({to.master, from.master, n * plan::master_bytes(plan, plan.chunks[task.chunk])});
  if (task.kind == TaskKind::kStoreState && plan.chunks[task.chunk].late_moments) return copies;
  copies.add({to.moment1, from.moment1, moment_bytes});
  copies.add({to.moment2, from.moment2, moment_bytes});
  return copies;
}

void Executor::issue_copies(const Task& task, const TaskCopies& copies, SpentMemory spent) {
  for (std::size_t i = 0; i < copies.count; ++i) count_copy(task.stream, copies.all[i].bytes);
  run(task, [copies, spent](StreamOperations& operations) {
    for (std::size_t i = 0; i < copies.count; ++i) {
      const TaskCopy& copy = copies.all[i];
      operations.copy(copy.to, copy.from, copy.bytes);
    }
    if (spent.bytes > 0) operations.poison(spent.memory, spent.bytes);
  });
}

void Executor::issue_load_state(const Task& task) {
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  const OptimizerPass::Chunk from = arrays_at_home(task);
  const OptimizerPass::Chunk to = arrays_of_piece(task, task.destination);
  TaskCopies copies = state_copies(task, to, from);
  const std::int64_t gradient_bytes = schedule::piece_gradient_bytes(chunk);
  // The gradients' place in the piece is written here and nowhere else.
  void* gradients = const_cast<void*>(to.gradients);
  if (gradient_bytes > 0) {
    copies.add({gradients, from.gradients_of(step_), task.elements * gradient_bytes});
  }
  if (from.splits) {
    copies.add(
        {to.parameters, from.parameters, task.elements * schedule::piece_parameter_bytes(chunk)});
  }
  issue_copies(task, copies);
}

void Executor::issue_update_of_piece(const Task& task) {
  const OptimizerPass::Chunk arrays = arrays_of_piece(task, task.source);
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  // In fp32, parameters that live on the device are a copy of the master.
  const bool copies =
      chunk.dtype == program::DType::kFloat32 && chunk.parameter_home == plan::Home::kDevice;
  OptimizerPass::Chunk updated = arrays;
  if (copies) updated.parameters = updated.master;
  run(task,
      [optimizer = parts_.optimizer, index = task.chunk, arrays, updated, copies](
          StreamOperations& operations) {
        optimizer->update(index, updated, plan::Home::kDevice, operations);
        if (!copies) return;
        operations.copy(arrays.parameters,
                        updated.master,
                        arrays.elements * static_cast<std::int64_t>(sizeof(float)));
      });
}

void Executor::issue_store_state(const Task& task) {
  const OptimizerPass::Chunk from = arrays_of_piece(task, task.source);
  const OptimizerPass::Chunk to = arrays_at_home(task);
  TaskCopies copies = state_copies(task, to, from);
  const std::int64_t parameter_bytes =
      schedule::piece_parameter_bytes(parts_.plan.chunks[task.chunk]);
  if (parameter_bytes > 0) {
    copies.add({to.parameters, from.parameters, task.elements * parameter_bytes});
  }
  issue_copies(task, copies, given_up(task.source, piece_layout_.bytes));
}

void Executor::issue_update_moments(const Task& task, OptimizerPass::Due due) {
  run(task,
      [optimizer = parts_.optimizer, index = task.chunk, due, arrays = arrays_at_home(task)](
          StreamOperations& operations) {
        optimizer->make_moments(index, arrays, due, operations);
      });
}

void Executor::issue_update(const Task& task) {
  OptimizerPass::Chunk arrays = arrays_at_home(task);
  arrays.gradients = parts_.buffers.at(task.source);
  arrays.parameters = parts_.buffers.at(task.destination);
  const plan::Home where =
      task.stream == schedule::Stream::kCpu ? plan::Home::kHost : plan::Home::kDevice;
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  const SpentMemory read =
      given_up(task.source, plan::shard_bytes(parts_.plan, chunk, chunk.gradient_dtype));
  run(task,
      [optimizer = parts_.optimizer, index = task.chunk, arrays, where, read](
          StreamOperations& operations) {
        optimizer->update(index, arrays, where, operations);
        if (read.bytes > 0) operations.poison(read.memory, read.bytes);
      });
}

}  // namespace elixir::runtime
