// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Checks what several ranks share: parameters from all shards, gradients that are added up, sums of
// squares, the module's buffers. All ranks run the same schedule, so they issue the same collective
// tasks in the same order.
#include <algorithm>

#include "schedule/check/checker.h"

namespace elixir::schedule {

using plan::Chunk;
using plan::Home;

bool Checker::read_at_home(const Chunk& chunk) const {
  return chunk.parameter_home == Home::kDevice && !is_sharded();
}

void Checker::check_shared_buffers() {
  for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
    const Chunk& chunk = plan_.chunks[c];
    const std::int64_t unit_bytes =
        plan::kPieceUnitElements * program::element_bytes(chunk.dtype) * plan_.world;
    if (chunk.bytes % unit_bytes != 0) problem("chunk {} has no {} equal parts", c, plan_.world);
    if (trained_in_[c].empty()) continue;
    const bool has_room =
        std::any_of(schedule_.buffers.begin(), schedule_.buffers.end(), [&](const Buffer& buffer) {
          return buffer.role == BufferRole::kExchange && buffer.arena == Arena::kDevice &&
                 buffer.bytes >= received_bytes(chunk);
        });
    if (!has_room) problem("no buffer has room for what ranks send of chunk {}", c);
  }
}

std::int64_t Checker::received_bytes(const Chunk& chunk) const {
  if (plan_.reduce == plan::Reduce::kOrdered) return exchanged_bytes(chunk);
  return exchanged_bytes(chunk) * plan_.replicas / plan_.world;
}

std::int64_t Checker::exchanged_bytes(const Chunk& chunk) const {
  constexpr std::int64_t kFloat32Bytes = 4;
  return reduces_once_ ? chunk.bytes / program::element_bytes(chunk.dtype) * kFloat32Bytes
                       : chunk.bytes;
}

void Checker::gather(const Task& task) {
  on_stream(task, Stream::kCollective);
  if (!needs_chunk(task)) return;
  const Chunk& chunk = plan_.chunks[task.chunk];
  const BufferId home = find(BufferRole::kParameters, task.chunk);
  const bool from_host = chunk.parameter_home == Home::kHost;
  if (!is_sharded() || task.destination < 0 || task.source != (from_host ? -1 : home)) {
    problem_at(task, "does not bring the shards of chunk {} to a block", task.chunk);
    return;
  }
  if (!is_block_for(task, task.destination)) return;
  if (task.bytes != chunk.bytes) problem_at(task, "gathers {} bytes", task.bytes);
  if (updated_[task.chunk]) problem_at(task, "gathers chunk {} after its update", task.chunk);
  Content& block = content_[task.destination];
  const bool has_own = block.chunk == task.chunk && block.what == Content::What::kOwnShard;
  if (from_host ? !has_own : block.chunk >= 0) {
    problem_at(task, "finds chunk {} in block {}", block.chunk, task.destination);
  }
  if (!from_host) touch_buffer(task, home, false);
  touch_buffer(task, task.destination, true);
  block = {task.chunk, Content::What::kParameters};
}

void Checker::collect_gradient(const Task& task) {
  on_stream(task, Stream::kCompute);
  const program::TensorRef& gradient = *program_.parameters[task.parameter].gradient;
  if (!alive_[gradient.storage] || version_[gradient.storage] != gradient.version) {
    problem_at(task, "stores a gradient that is not there or not complete");
    return;
  }
  if (task.chunk != chunk_of_[task.parameter]) {
    problem_at(task, "stores a gradient of another chunk");
    return;
  }
  touch_storage(task, gradient.storage, false);
  collect(task, task.parameter, task.destination);
  if (task.sums_squares) problem_at(task, "sums the squares of one rank's gradient");
}

bool Checker::is_gradient_of(std::int32_t parameter, const program::Operator& op) const {
  if (!trains(parameter)) return false;
  bool found = false;
  program::for_each_tensor(op.outputs, [&](const program::TensorRef& tensor) {
    found = found || tensor.storage == program_.parameters[parameter].gradient->storage;
  });
  return found && executed_[op.id];
}

void Checker::make_direct(const Task& task,
                          const DirectGradient& direct,
                          const program::Operator& op) {
  const program::TensorRef& gradient = *program_.parameters[direct.parameter].gradient;
  const program::Storage& storage = program_.storages[gradient.storage];
  // Its bytes are the whole storage, once, and nobody else looks for them there.
  const bool writes_elsewhere = (op.name == "aten::mm" || op.name == "aten::bmm") &&
                                op.overload.empty() && op.outputs.size() == 1 &&
                                last_use_[storage.id] == op.id;
  int parameters = 0;
  for (const program::Parameter& parameter : program_.parameters) {
    if (parameter.gradient && parameter.gradient->storage == storage.id) ++parameters;
  }
  const bool is_all = parameters == 1 && gradient.offset == 0 &&
                      gradient.bytes() == storage.bytes &&
                      gradient.dtype == plan_.chunks[chunk_of_[direct.parameter]].dtype;
  if (!several_ranks() || reduces_once_ || !writes_elsewhere || !is_all) {
    problem_at(task, "operator {} cannot write the gradient to a block", op.id);
    return;
  }
  collect(task, direct.parameter, direct.block);
}

void Checker::collect(const Task& task, std::int32_t parameter, BufferId id) {
  const std::int32_t chunk = chunk_of_[parameter];
  const bool has_own = reduces_once_ || plan_.chunks[chunk].kind == Chunk::Kind::kPrivate;
  const bool fits = id >= 0 && schedule_.buffers[id].role == BufferRole::kGradientBlock &&
                    schedule_.buffers[id].arena == Arena::kDevice &&
                    schedule_.buffers[id].chunk == (has_own ? chunk : -1) &&
                    schedule_.buffers[id].bytes >= exchanged_bytes(plan_.chunks[chunk]);
  if (!fits) {
    problem_at(task, "does not store into a block for the gradients of chunk {}", chunk);
    return;
  }
  Content& block = content_[id];
  if (block.chunk >= 0 && block.chunk != chunk) {
    problem_at(task, "overwrites gradients of chunk {}", block.chunk);
  }
  take_back(task, id);
  touch_buffer(task, id, true);
  block = {chunk, Content::What::kGradients};
  const bool adds = reduces_once_ && task.micro_batch > 0;
  BufferId& collected_in = collected_in_[parameter];
  if (adds && collected_in != id) problem_at(task, "adds to a gradient that is not there");
  if (!adds && collected_in >= 0) problem_at(task, "overwrites a gradient not yet added up");
  collected_in = id;
  if (++stored_[parameter] != task.micro_batch + 1) {
    problem_at(task, "is store {} in micro-batch {}", stored_[parameter], task.micro_batch);
  }
}

bool Checker::is_of_trained_chunk(const Task& task) {
  if (!needs_chunk(task)) return false;
  if (several_ranks() && !trained_in_[task.chunk].empty() && task.micro_batch == current_) {
    return true;
  }
  problem_at(task, "is not about gradients of the running micro-batch");
  return false;
}

void Checker::reduce(const Task& task) {
  on_stream(task, Stream::kReduce);
  if (!is_of_trained_chunk(task)) return;
  const Chunk& chunk = plan_.chunks[task.chunk];
  const bool collected = task.source >= 0 && content_[task.source].chunk == task.chunk &&
                         content_[task.source].what == Content::What::kGradients;
  if (!collected) {
    problem_at(task, "finds no gradients of chunk {} in buffer {}", task.chunk, task.source);
    return;
  }
  for (const std::int32_t parameter : trained_in_[task.chunk]) {
    const bool complete = !reduces_once_ || stored_[parameter] == schedule_.micro_batches;
    if (collected_in_[parameter] != task.source || !complete) {
      problem_at(task, "lacks the gradient of {}", program_.parameters[parameter].name);
    }
    collected_in_[parameter] = -1;
  }
  if (task.bytes != exchanged_bytes(chunk)) problem_at(task, "reduces {} bytes", task.bytes);
  touch_buffer(task, task.source, false);
  content_[task.source] = {};
  for (const Buffer& buffer : schedule_.buffers) {
    if (buffer.role == BufferRole::kExchange) touch_buffer(task, buffer.id, true);
  }
  if (chunk.gradient_home == Home::kDevice) {
    const BufferId gradients = find(BufferRole::kGradients, task.chunk);
    if (task.destination != gradients || gradients < 0) {
      problem_at(task, "reduces into buffer {} instead of {}", task.destination, gradients);
      return;
    }
    add_reduced(task, gradients);
  } else {
    const std::int64_t bytes =
        elements_of(task.chunk) * program::element_bytes(chunk.gradient_dtype);
    const bool fits = task.destination >= 0 &&
                      schedule_.buffers[task.destination].role == BufferRole::kReducedStaging &&
                      schedule_.buffers[task.destination].arena == Arena::kDevice &&
                      schedule_.buffers[task.destination].bytes >= bytes;
    if (!fits) {
      problem_at(task, "has no room for a shard in buffer {}", task.destination);
      return;
    }
    touch_buffer(task, task.destination, true);
    content_[task.destination] = {task.chunk, Content::What::kReduced};
  }
  if (!task.sums_squares) return;
  if (chunk.gradient_home == Home::kHost && parts_ > 1) {
    problem_at(task, "sums the squares of a part of the gradient");
  }
  sum_squares_of_chunk(task);
}

void Checker::add_reduced(const Task& task, BufferId buffer) {
  take_turn(task, buffer);
  for (const std::int32_t parameter : trained_in_[task.chunk]) {
    touch_gradient(task, buffer, parameter, true);
    if (summed_[parameter]++ != (reduces_once_ ? 0 : task.micro_batch)) {
      problem_at(task, "adds up micro-batch {} out of order", task.micro_batch);
    }
  }
}

void Checker::sum_squares_of_chunk(const Task& task) {
  Task one = task;
  for (const std::int32_t parameter : trained_in_[task.chunk]) {
    one.parameter = parameter;
    sum_squares(one);
  }
}

void Checker::store_shard(const Task& task) {
  on_stream(task, Stream::kDeviceToHost);
  if (!is_of_trained_chunk(task)) return;
  const Chunk& chunk = plan_.chunks[task.chunk];
  const bool lands = parts_ > 1;
  const bool has_sum = task.source >= 0 && content_[task.source].chunk == task.chunk &&
                       content_[task.source].what == Content::What::kReduced;
  const BufferId gradients = find(BufferRole::kGradients, task.chunk);
  const bool comes_home = lands || (task.destination == gradients && gradients >= 0);
  if (!has_sum || !comes_home || chunk.gradient_home != Home::kHost) {
    problem_at(task, "does not bring the sum of chunk {}'s gradients to the host", task.chunk);
    return;
  }
  const std::int64_t bytes = elements_of(task.chunk) * program::element_bytes(chunk.gradient_dtype);
  if (task.bytes != bytes) problem_at(task, "stores {} of {} bytes", task.bytes, bytes);
  touch_buffer(task, task.source, false);
  content_[task.source] = {};
  if (!lands) return add_reduced(task, gradients);
  if (!land(task, bytes)) return;
  for (const std::int32_t parameter : trained_in_[task.chunk]) land_gradient(task, parameter);
}

void Checker::accumulate_shard(const Task& task) {
  if (!is_of_trained_chunk(task)) return;
  const BufferId gradients = find(BufferRole::kGradients, task.chunk);
  if (task.destination != gradients || task.parameter >= 0) {
    problem_at(task, "does not add up what lands of chunk {}", task.chunk);
    return;
  }
  for (const std::int32_t parameter : trained_in_[task.chunk]) take_landed(task, parameter);
  add_reduced(task, gradients);
  if (task.sums_squares) sum_squares_of_chunk(task);
}

void Checker::gather_sums(const Task& task) {
  on_stream(task, Stream::kCollective);
  const auto is = [&](BufferId buffer, BufferRole role) {
    return buffer >= 0 && schedule_.buffers[buffer].role == role;
  };
  if (!several_ranks() || !is(task.source, BufferRole::kRankSums) ||
      !is(task.destination, BufferRole::kGradientSums)) {
    problem_at(task, "does not gather the ranks' sums of squares");
    return;
  }
  for (const auto& trained : trained_in_) {
    for (const std::int32_t parameter : trained) {
      if (summed_squares_[parameter] < 0) {
        problem_at(task, "lacks the squares of {}", program_.parameters[parameter].name);
      } else {
        touch_sums(task, parameter, false);
      }
    }
  }
  touch_buffer(task, task.destination, true);
  sums_gathered_ = true;
}

void Checker::share_buffers(const Task& task) {
  on_stream(task, Stream::kCollective);
  ++shared_buffers_;
  for (const bool closed : closed_) {
    if (!closed) problem_at(task, "shares buffers that a micro-batch still changes");
  }
  std::int64_t bytes = 0;
  for (const program::Buffer& buffer : program_.buffers) {
    if (!buffer.mutated) continue;
    bytes += buffer.tensor.bytes();
    touch_module_buffer(task, buffer.tensor.storage, true);
  }
  if (task.bytes != bytes) problem_at(task, "shares {} of {} bytes", task.bytes, bytes);
}

void Checker::touch_module_buffer(const Task& task, program::StorageId storage, bool writes) {
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    if (program_.buffers[i].tensor.storage != storage) continue;
    const BufferId buffer = find(BufferRole::kModuleBuffer, static_cast<std::int32_t>(i));
    if (buffer >= 0) return touch_buffer(task, buffer, writes);
  }
}

}  // namespace elixir::schedule
