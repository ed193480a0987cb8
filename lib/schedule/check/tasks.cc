// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Checks inputs, operators, blocks and the loss.
#include <algorithm>

#include "program/arguments/writes.h"
#include "schedule/check/checker.h"

namespace elixir::schedule {

using plan::Chunk;
using plan::Home;
using program::OperatorId;
using program::StorageId;

void Checker::visit(const Task& task) {
  if (!schedule_.training &&
      (task.kind == TaskKind::kStoreGradient || task.kind == TaskKind::kAccumulate ||
       task.kind == TaskKind::kGradientNorm || task.kind == TaskKind::kClip ||
       task.kind == TaskKind::kMoveGradients || task.kind == TaskKind::kUpdate ||
       task.kind == TaskKind::kUpdateMoments || task.kind == TaskKind::kMoveParameters ||
       task.kind == TaskKind::kLoadState || task.kind == TaskKind::kStoreState ||
       task.kind == TaskKind::kReduce || task.kind == TaskKind::kStoreShard ||
       task.kind == TaskKind::kGatherSums || task.kind == TaskKind::kShareBuffers)) {
    problem_at(task, "writes in a forward-only schedule");
    return;
  }
  switch (task.kind) {
    case TaskKind::kLoadInputs:
      return load_inputs(task);
    case TaskKind::kCompute:
      return compute(task);
    case TaskKind::kFetch:
      return fetch(task);
    case TaskKind::kEvict:
      return evict(task);
    case TaskKind::kStoreGradient:
      return store_gradient(task);
    case TaskKind::kAccumulate:
      return accumulate(task);
    case TaskKind::kGradientNorm:
      return norm(task);
    case TaskKind::kClip:
      return clip(task);
    case TaskKind::kMoveGradients:
      return move_gradients(task);
    case TaskKind::kUpdateMoments:
      return update_moments(task);
    case TaskKind::kUpdate:
      return update(task);
    case TaskKind::kMoveParameters:
      return move_parameters(task);
    case TaskKind::kLoadState:
      return load_state(task);
    case TaskKind::kStoreState:
      return store_state(task);
    case TaskKind::kReadLoss:
      return read_loss(task);
    case TaskKind::kOffload:
      return offload(task);
    case TaskKind::kReload:
      return reload(task);
    case TaskKind::kGather:
      return gather(task);
    case TaskKind::kReduce:
      return reduce(task);
    case TaskKind::kStoreShard:
      return store_shard(task);
    case TaskKind::kGatherSums:
      return gather_sums(task);
    case TaskKind::kShareBuffers:
      return share_buffers(task);
  }
}

bool Checker::on_stream(const Task& task, Stream stream) {
  if (task.stream == stream) return true;
  problem_at(task, "is on stream {}, belongs on {}", name_of(task.stream), name_of(stream));
  return false;
}

bool Checker::needs_chunk(const Task& task) {
  if (task.chunk >= 0) return true;
  problem_at(task, "names no chunk");
  return false;
}

void Checker::load_inputs(const Task& task) {
  on_stream(task, Stream::kHostToDevice);
  for (const Buffer& buffer : schedule_.buffers) {
    if (buffer.role == BufferRole::kInput) touch_buffer(task, buffer.id, true);
  }
  inputs_of_ = task.micro_batch;
}

void Checker::compute(const Task& task) {
  on_stream(task, Stream::kCompute);
  if (task.micro_batch != current_) {
    if (task.micro_batch != current_ + 1 || (current_ >= 0 && !closed_[current_])) {
      problem_at(task, "starts micro-batch {} out of order", task.micro_batch);
    }
    current_ = task.micro_batch;
    std::fill(version_.begin(), version_.end(), 0);
  }
  for (const StorageId storage : task.releases) {
    if (!alive_[storage]) {
      problem_at(task, "releases storage {}, which is not there", storage);
      continue;
    }
    touch_storage(task, storage, true);
    alive_[storage] = false;
  }
  OperatorId& next = next_operator_[task.micro_batch];
  while (next < task.first && !runs(program_.operators[next])) ++next;
  if (task.first != next && !(task.first == task.last)) {
    problem_at(task, "starts at operator {} where {} is next", task.first, next);
  }
  std::size_t made = 0;
  for (OperatorId op = task.first; op < task.last; ++op) {
    if (!runs(program_.operators[op])) problem_at(task, "runs backward operator {}", op);
    if (executed_[op]) execute(task, program_.operators[op]);
    for (const DirectGradient& direct : task.direct) {
      if (!is_gradient_of(direct.parameter, program_.operators[op])) continue;
      make_direct(task, direct, program_.operators[op]);
      ++made;
    }
  }
  if (made != task.direct.size()) {
    problem_at(task, "makes {} gradients and names {}", made, task.direct.size());
  }
  next = std::max(next, task.last);
  if (task.first == task.last) close(task);
}

void Checker::execute(const Task& task, const program::Operator& op) {
  movement(task, op);
  program::for_each_tensor(op.arguments,
                           [&](const program::TensorRef& tensor) { read(task, op, tensor); });
  program::for_each_tensor(op.outputs, [&](const program::TensorRef& tensor) {
    const StorageId storage = tensor.storage;
    const bool written = op.writes && tensor.version > version_[storage];
    version_[storage] = std::max(version_[storage], tensor.version);
    switch (fixed_[storage]) {
      case Fixed::kNo:
        alive_[storage] = true;
        touch_storage(task, storage, true);
        return;
      case Fixed::kParameter:
      case Fixed::kInput:
      case Fixed::kConstant:
        if (written) problem_at(task, "operator {} writes a parameter, input or constant", op.id);
        return;
      case Fixed::kBuffer:
        if (written && !schedule_.training) {
          problem_at(task, "operator {} writes a buffer in a forward-only schedule", op.id);
        }
        return touch_module_buffer(task, storage, written);
    }
  });
  for (const program::TensorRef& tensor : program::unreturned_writes(op)) {
    version_[tensor.storage] = std::max(version_[tensor.storage], tensor.version + 1);
    if (fixed_[tensor.storage] == Fixed::kBuffer && !schedule_.training) {
      problem_at(task, "operator {} writes a buffer in a forward-only schedule", op.id);
    }
  }
  // A replay releases everything except gradients and the loss after its last use.
  const auto let_go = [&](const program::TensorRef& tensor) {
    if (last_use_[tensor.storage] == op.id && !kept_[tensor.storage]) {
      alive_[tensor.storage] = false;
    }
  };
  program::for_each_tensor(op.arguments, let_go);
  program::for_each_tensor(op.outputs, let_go);
}

void Checker::read(const Task& task,
                   const program::Operator& op,
                   const program::TensorRef& tensor) {
  switch (fixed_[tensor.storage]) {
    case Fixed::kNo:
      if (!alive_[tensor.storage]) {
        problem_at(task, "operator {} reads storage {}, which is gone", op.id, tensor.storage);
      } else if (awaited_[tensor.storage]) {
        problem_at(
            task, "operator {} reads storage {} before it comes back", op.id, tensor.storage);
      } else {
        touch_storage(task, tensor.storage, false);
      }
      return;
    case Fixed::kInput:
      if (inputs_of_ != task.micro_batch) {
        problem_at(task, "operator {} reads inputs of another micro-batch", op.id);
      }
      for (const Buffer& buffer : schedule_.buffers) {
        if (buffer.role == BufferRole::kInput) touch_buffer(task, buffer.id, false);
      }
      return;
    case Fixed::kParameter:
      return read_parameter(task, op, parameter_of_[tensor.storage]);
    case Fixed::kBuffer:
      return touch_module_buffer(task, tensor.storage, false);
    case Fixed::kConstant:
      return;
  }
}

void Checker::read_parameter(const Task& task,
                             const program::Operator& op,
                             std::int32_t parameter) {
  const std::int32_t chunk = chunk_of_[parameter];
  if (read_at_home(plan_.chunks[chunk])) {
    if (updated_[chunk]) {
      problem_at(task, "operator {} reads chunk {} after its update", op.id, chunk);
    }
    const BufferId home = find(BufferRole::kParameters, chunk);
    if (home >= 0) touch_buffer(task, home, false);
    return;
  }
  for (const Buffer& buffer : schedule_.buffers) {
    if (content_[buffer.id].chunk == chunk &&
        content_[buffer.id].what == Content::What::kParameters &&
        (buffer.role == BufferRole::kBlock || buffer.role == BufferRole::kPrivateBlock)) {
      touch_buffer(task, buffer.id, false);
      return;
    }
  }
  problem_at(task,
             "operator {} reads {} of chunk {}, which is in no block",
             op.id,
             program_.parameters[parameter].name,
             chunk);
}

void Checker::close(const Task& task) {
  if (closed_[task.micro_batch]) problem_at(task, "ends its micro-batch twice");
  closed_[task.micro_batch] = true;
  OperatorId next = next_operator_[task.micro_batch];
  const auto end = static_cast<OperatorId>(program_.operators.size());
  while (next < end && !runs(program_.operators[next])) ++next;
  if (next != end) problem_at(task, "operators from {} on are missing", next);
  for (std::size_t s = 0; s < alive_.size(); ++s) {
    if (alive_[s]) problem_at(task, "storage {} is never released", s);
    alive_[s] = false;
  }
}

void Checker::fetch(const Task& task) {
  on_stream(task, Stream::kHostToDevice);
  if (!needs_chunk(task)) return;
  const Chunk& chunk = plan_.chunks[task.chunk];
  if (chunk.parameter_home != Home::kHost ||
      task.source != find(BufferRole::kParameters, task.chunk) || task.destination < 0) {
    problem_at(task, "does not go from chunk {}'s home on the host to a block", task.chunk);
    return;
  }
  if (!is_block_for(task, task.destination)) return;
  if (task.bytes != elements_of(task.chunk) * program::element_bytes(chunk.dtype)) {
    problem_at(task, "moves {} bytes of chunk {}", task.bytes, task.chunk);
  }
  if (updated_[task.chunk]) problem_at(task, "fetches chunk {} after its update", task.chunk);
  if (content_[task.destination].chunk >= 0) {
    problem_at(
        task, "block {} still holds chunk {}", task.destination, content_[task.destination].chunk);
  }
  touch_buffer(task, task.source, false);
  touch_buffer(task, task.destination, true);
  content_[task.destination] = {
      task.chunk, is_sharded() ? Content::What::kOwnShard : Content::What::kParameters};
}

bool Checker::is_block_for(const Task& task, BufferId buffer) {
  const Chunk& chunk = plan_.chunks[task.chunk];
  const Buffer& block = schedule_.buffers[buffer];
  const bool fits_kind = chunk.kind == Chunk::Kind::kPublic
                             ? block.role == BufferRole::kBlock
                             : block.role == BufferRole::kPrivateBlock && block.chunk == task.chunk;
  if (!fits_kind || block.arena != Arena::kDevice) {
    problem_at(task, "buffer {} is not a block for chunk {}", block.id, task.chunk);
    return false;
  }
  if (block.bytes < chunk.bytes) {
    problem_at(task, "chunk {} has {} bytes, the block {}", task.chunk, chunk.bytes, block.bytes);
    return false;
  }
  return true;
}

void Checker::evict(const Task& task) {
  on_stream(task, Stream::kCompute);
  if (task.source < 0 || task.chunk < 0 || content_[task.source].chunk != task.chunk) {
    problem_at(task, "gives up chunk {}, which the block does not hold", task.chunk);
    return;
  }
  touch_buffer(task, task.source, true);
  content_[task.source] = {};
}

void Checker::read_loss(const Task& task) {
  on_stream(task, Stream::kDeviceToHost);
  const StorageId storage = program_.loss.storage;
  if (storage < 0 || !alive_[storage] || version_[storage] != program_.loss.version ||
      task.micro_batch != current_) {
    problem_at(task, "reads a loss that is not there");
    return;
  }
  touch_storage(task, storage, false);
  ++losses_read_[task.micro_batch];
}

}  // namespace elixir::schedule
