// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/activation_copies.h"

#include <cstddef>
#include <variant>

namespace elixir::schedule {
namespace {

using operators::Movement;
using program::OperatorId;
using program::StorageId;

StorageId storage_of(const std::vector<program::Argument>& tensors, std::size_t position) {
  return std::get<program::TensorRef>(tensors.at(position)).storage;
}

}  // namespace

ActivationCopies::ActivationCopies(const program::Program& program,
                                   const std::vector<Movement>& movements,
                                   const StepBuffers& buffers,
                                   TaskList& tasks)
    : program_(program), movements_(movements), tasks_(tasks) {
  for (const Buffer& buffer : buffers.all) {
    if (buffer.role != BufferRole::kOffloaded) continue;
    copies_[buffer.chunk] = {.buffer = buffer.id, .on_device = buffer.arena == Arena::kDevice};
  }
}

bool ActivationCopies::begins(OperatorId op) const {
  return movements_[op] == Movement::kOffloadBegin || movements_[op] == Movement::kReloadBegin;
}

void ActivationCopies::begin(OperatorId op, int micro_batch, TaskId range) {
  const program::Operator& call = program_.operators[op];
  const bool leaves = movements_[op] == Movement::kOffloadBegin;
  const StorageId on_host = storage_of(leaves ? call.outputs : call.arguments, 0);
  const StorageId on_device = storage_of(leaves ? call.arguments : call.outputs, 0);
  WaitingCopy& copy = copies_.at(on_host);
  const Stream link = leaves ? Stream::kDeviceToHost : Stream::kHostToDevice;
  const TaskId task = tasks_.add({.kind = leaves ? TaskKind::kOffload : TaskKind::kReload,
                                  .stream = copy.on_device ? Stream::kCompute : link,
                                  .micro_batch = micro_batch,
                                  .source = leaves ? -1 : copy.buffer,
                                  .destination = leaves ? copy.buffer : -1,
                                  .storage = on_device,
                                  .bytes = program_.storages[on_device].bytes},
                                 {range, leaves ? copy.read : copy.written});
  if (leaves && copy.first_written < 0) copy.first_written = task;
  (leaves ? copy.written : copy.read) = task;
}

void ActivationCopies::link_steps() const {
  for (const auto& [storage, copy] : copies_) tasks_.link(copy.first_written, copy.read);
}

TaskId ActivationCopies::awaited_by(OperatorId op) const {
  const bool leaves = movements_[op] == Movement::kOffloadEnd;
  if (!leaves && movements_[op] != Movement::kReloadEnd) return -1;
  const WaitingCopy& copy = copies_.at(storage_of(program_.operators[op].arguments, 1));
  return leaves ? copy.written : copy.read;
}

}  // namespace elixir::schedule
