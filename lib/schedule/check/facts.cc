// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The requirements of program and plan, read again from the operators and chunks.
#include <algorithm>

#include "operators/own.h"
#include "schedule/check/checker.h"

namespace elixir::schedule {
namespace {

/// Each has one sum of squares (docs/design/arithmetic.md).
constexpr std::int64_t kBlockElements = 65'536;

}  // namespace

using plan::Chunk;
using plan::Home;
using program::DType;
using program::StorageId;

bool Checker::runs(const program::Operator& op) const {
  return schedule_.training || op.phase == program::Phase::kForward;
}

void Checker::read_program() {
  const std::size_t storages = program_.storages.size();
  fixed_.assign(storages, Fixed::kNo);
  parameter_of_.assign(storages, -1);
  kept_.assign(storages, false);
  last_use_.assign(storages, -1);
  for (const program::Storage& storage : program_.storages) {
    if (storage.category == program::Category::kConstant) fixed_[storage.id] = Fixed::kConstant;
  }
  for (const auto& input : program_.inputs) fixed_[input.tensor.storage] = Fixed::kInput;
  for (const auto& buffer : program_.buffers) fixed_[buffer.tensor.storage] = Fixed::kBuffer;
  for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
    const program::Parameter& parameter = program_.parameters[i];
    fixed_[parameter.tensor.storage] = Fixed::kParameter;
    parameter_of_[parameter.tensor.storage] = static_cast<std::int32_t>(i);
    if (parameter.gradient) kept_[parameter.gradient->storage] = true;
  }
  if (program_.loss.storage >= 0) kept_[program_.loss.storage] = true;
  for (const program::Operator& op : program_.operators) {
    if (op.name == operators::kOffloadBegin) {
      const auto& home = std::get<program::TensorRef>(op.arguments.at(0));
      Trip& trip = trips_[std::get<program::TensorRef>(op.outputs.at(0)).storage];
      trip.leaves = home.storage;
      trip.begins = op.id;
      trip.bytes = program_.storages[home.storage].bytes;
    } else if (op.name == operators::kReloadBegin) {
      trips_[std::get<program::TensorRef>(op.arguments.at(0)).storage].returns =
          std::get<program::TensorRef>(op.outputs.at(0)).storage;
    }
  }
  std::vector<bool> made(storages, false);
  executed_.resize(program_.operators.size());
  for (const program::Operator& op : program_.operators) {
    int outputs = 0;
    int fresh = 0;
    program::for_each_tensor(op.outputs, [&](const program::TensorRef& tensor) {
      ++outputs;
      if (fixed_[tensor.storage] == Fixed::kNo && !made[tensor.storage]) {
        made[tensor.storage] = true;
        ++fresh;
      }
    });
    executed_[op.id] = op.writes || fresh > 0 || outputs == 0;
    if (!executed_[op.id]) continue;
    const auto use = [&](const program::TensorRef& tensor) { last_use_[tensor.storage] = op.id; };
    program::for_each_tensor(op.arguments, use);
    program::for_each_tensor(op.outputs, use);
  }
}

void Checker::read_plan() {
  chunk_of_.assign(program_.parameters.size(), -1);
  std::unordered_map<std::string, std::int32_t> chunk_of_name;
  for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
    for (const auto& entry : plan_.chunks[c].parameters) {
      chunk_of_name[entry.name] = static_cast<std::int32_t>(c);
    }
  }
  trained_in_.resize(plan_.chunks.size());
  for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
    const auto found = chunk_of_name.find(program_.parameters[i].name);
    if (found == chunk_of_name.end()) {
      problem("parameter {} is in no chunk", program_.parameters[i].name);
      chunk_of_[i] = 0;
      continue;
    }
    chunk_of_[i] = found->second;
    if (schedule_.training && plan_.optimizer != program::Optimizer::kNone &&
        program_.parameters[i].gradient) {
      trained_in_[found->second].push_back(static_cast<std::int32_t>(i));
    }
  }
  for (const Task& task : schedule_.tasks) {
    if (task.kind == TaskKind::kClip) clip_ = &task;
  }
}

void Checker::begin_step() {
  alive_.assign(program_.storages.size(), false);
  version_.assign(program_.storages.size(), 0);
  awaited_.assign(program_.storages.size(), false);
  stored_.assign(program_.parameters.size(), 0);
  summed_.assign(program_.parameters.size(), 0);
  landed_in_.assign(program_.parameters.size(), -1);
  collected_in_.assign(program_.parameters.size(), -1);
  sums_gathered_ = false;
  shared_buffers_ = 0;
  summed_squares_.assign(program_.parameters.size(), -1);
  updated_.assign(plan_.chunks.size(), false);
  moments_made_.assign(plan_.chunks.size(), -1);
  gradients_used_.assign(plan_.chunks.size(), false);
  home_again_.assign(plan_.chunks.size(), false);
  pieces_loaded_.assign(plan_.chunks.size(), 0);
  pieces_updated_ = pieces_stored_ = pieces_loaded_;
  next_operator_.assign(schedule_.micro_batches, 0);
  closed_.assign(schedule_.micro_batches, false);
  losses_read_.assign(schedule_.micro_batches, 0);
  content_.assign(schedule_.buffers.size(), {});
  for (auto& [storage, trip] : trips_) {
    trip.offloaded_in = trip.begun = -1;
    trip.is_back = false;
  }
  current_ = inputs_of_ = -1;
}

bool Checker::is_split(const Chunk& chunk) const {
  return plan_.master == plan::Master::kSplit && chunk.dtype == DType::kBFloat16 &&
         chunk.parameter_home == chunk.optimizer_home;
}

BufferId Checker::find(BufferRole role, std::int32_t chunk) const {
  const auto found = by_role_.find({role, chunk});
  return found == by_role_.end() ? -1 : found->second;
}

void Checker::expect(BufferRole role, std::int32_t chunk, Home home, std::int64_t bytes) {
  const BufferId id = find(role, chunk);
  if (id < 0) {
    problem("chunk {} has no buffer of role {}", chunk, static_cast<int>(role));
    return;
  }
  const Buffer& buffer = schedule_.buffers[id];
  if ((buffer.arena == Arena::kDevice) != (home == Home::kDevice)) {
    problem("buffer {} of chunk {} is not where the plan says", id, chunk);
  }
  if (buffer.bytes < bytes) {
    problem("buffer {} of chunk {} has {} bytes, needs {}", id, chunk, buffer.bytes, bytes);
  }
}

namespace {

bool is_of_gradients(const Buffer& buffer) {
  return buffer.role == BufferRole::kGradients || buffer.role == BufferRole::kGradientBlock;
}

bool overlap(const Buffer& a, const Buffer& b) {
  return a.shares == b.shares && a.offset_bytes < b.offset_bytes + b.bytes &&
         b.offset_bytes < a.offset_bytes + a.bytes;
}

}  // namespace

/// Only gradients that nobody reads after their update use memory of another buffer, and
/// activations that wait while gradients are not there.
void Checker::check_sharing(const Buffer& buffer) {
  const auto buffers = static_cast<BufferId>(schedule_.buffers.size());
  if (buffer.shares >= buffers) {
    problem("buffer {} shares memory of a buffer that does not exist", buffer.id);
    return;
  }
  const Buffer& owner = schedule_.buffers[buffer.shares];
  const bool may = is_of_gradients(buffer) || buffer.role == BufferRole::kOffloaded;
  if (!may || owner.role != BufferRole::kGradients || owner.shares >= 0 || owner.chunk >= 0 ||
      owner.arena != buffer.arena || buffer.offset_bytes < 0 ||
      owner.bytes < buffer.offset_bytes + buffer.bytes) {
    problem("buffer {} cannot share the memory of buffer {}", buffer.id, owner.id);
  }
  if (lends_gradients_) return check_lending(buffer, owner);
  check_turns(buffer, owner);
}

/// Chunks take turns with the whole memory.
void Checker::check_turns(const Buffer& buffer, const Buffer& owner) {
  const bool whole = schedule_.micro_batches == 1 || reduces_once_;
  if (buffer.role != BufferRole::kGradients || buffer.offset_bytes != 0) {
    problem("buffer {} cannot take turns with buffer {}", buffer.id, owner.id);
  }
  if (plan_.clips_gradients || !whole) {
    problem("buffer {} shares memory, but all gradients exist at the same time", buffer.id);
  }
}

/// All gradients exist at the same time, and so do all activations that wait.
void Checker::check_lending(const Buffer& buffer, const Buffer& owner) {
  for (const Buffer& other : schedule_.buffers) {
    if (other.id == buffer.id || other.shares != owner.id || !overlap(other, buffer)) continue;
    if (is_of_gradients(other) == is_of_gradients(buffer)) {
      problem("buffers {} and {} have the same memory", buffer.id, other.id);
    }
  }
  if (!is_of_gradients(buffer)) return;
  const bool known =
      buffer.chunk >= 0 && static_cast<std::size_t>(buffer.chunk) < plan_.chunks.size();
  if (!known || plan_.chunks[buffer.chunk].optimizer_home != Home::kDevice) {
    problem("buffer {} lends memory of gradients that are not used up on the device", buffer.id);
  }
}

void Checker::check_trip_memory(StorageId copy, Trip& trip) {
  const BufferId id = find(BufferRole::kOffloaded, copy);
  const Buffer* buffer = id < 0 ? nullptr : &schedule_.buffers[id];
  const bool lent = buffer != nullptr && buffer->shares >= 0;
  if (buffer == nullptr || (buffer->arena == Arena::kHost) == lent || buffer->bytes < trip.bytes) {
    problem("storage {} has no memory of {} bytes to wait in", trip.leaves, trip.bytes);
    return;
  }
  if (!lent) return;
  for (const Buffer& other : schedule_.buffers) {
    if (is_of_gradients(other) && other.chunk >= 0 && overlap(other, *buffer)) {
      trip.over.push_back(other.id);
    }
  }
}

void Checker::check_buffers() {
  for (const Buffer& buffer : schedule_.buffers) {
    if (buffer.chunk >= 0) by_role_.emplace(std::make_pair(buffer.role, buffer.chunk), buffer.id);
    if (buffer.shares >= 0) check_sharing(buffer);
  }
  for (auto& [copy, trip] : trips_) check_trip_memory(copy, trip);
  std::int64_t sums = 0;
  for (const auto& trained : trained_in_) {
    for (const std::int32_t parameter : trained) {
      const std::int64_t elements = program_.parameters[parameter].gradient->numel();
      sums += elements / kBlockElements + (elements % kBlockElements == 0 ? 0 : 1);
    }
  }
  const auto has_room = [&](BufferRole role) {
    return std::any_of(
        schedule_.buffers.begin(), schedule_.buffers.end(), [&](const Buffer& buffer) {
          return buffer.role == role && buffer.arena == Arena::kDevice && buffer.bytes >= 4 * sums;
        });
  };
  if (sums > 0 && (!has_room(BufferRole::kGradientSums) ||
                   (several_ranks() && !has_room(BufferRole::kRankSums)))) {
    problem("no buffer has room for {} sums of squares", sums);
  }
  if (several_ranks()) check_shared_buffers();
  for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
    const Chunk& chunk = plan_.chunks[c];
    const auto id = static_cast<std::int32_t>(c);
    const std::int64_t elements = elements_of(id);
    expect(BufferRole::kParameters,
           id,
           chunk.parameter_home,
           elements * program::element_bytes(chunk.dtype));
    if (trained_in_[c].empty()) continue;
    expect(BufferRole::kGradients,
           id,
           chunk.gradient_home,
           kept_gradients(id) * elements * program::element_bytes(chunk.gradient_dtype));
    if (chunk.dtype != DType::kFloat32 || chunk.parameter_home != chunk.optimizer_home) {
      expect(BufferRole::kMaster, id, chunk.optimizer_home, elements * (is_split(chunk) ? 2 : 4));
    }
    const std::int64_t bytes = elements * program::element_bytes(plan_.moment_dtype);
    expect(BufferRole::kMoment1, id, chunk.optimizer_home, bytes);
    expect(BufferRole::kMoment2, id, chunk.optimizer_home, bytes);
  }
}

}  // namespace elixir::schedule
