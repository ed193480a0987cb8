// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Tasks of the executor that gather, store, add up and reduce gradients and parameters.
#include "runtime/step/executor.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/state/element.h"

namespace elixir::runtime {
namespace {

using schedule::BufferRole;
using schedule::Task;

}  // namespace

const void* Executor::made_gradient(const Task& task) const {
  const program::TensorRef& gradient = *program_.parameters[task.parameter].gradient;
  const c10::Storage& storage = tables_[task.micro_batch][gradient.storage];
  require(static_cast<bool>(storage), "a gradient is read before it is made");
  return static_cast<const char*>(storage.data()) +
         gradient.offset * program::element_bytes(gradient.dtype);
}

kernels::BlockSums Executor::sums_of(const Task& task) const {
  return task.sums_squares ? parts_.optimizer->sums_of(task.parameter) : kernels::BlockSums{};
}

void Executor::issue_store_gradient(const Task& task) {
  const program::TensorRef& gradient = *program_.parameters[task.parameter].gradient;
  const ParameterLayout& layout = parts_.layouts[task.parameter];
  const void* from = made_gradient(task);
  const auto n = static_cast<std::size_t>(layout.elements);
  if (plan::reduces_once(parts_.plan)) return issue_accumulate(task, from, {}, {});
  if (parts_.plan.world > 1) {
    void* block = advance(parts_.buffers.at(task.destination), layout.offset_bytes);
    return issue_copy(task, block, from, gradient.bytes());
  }
  const kernels::BlockSums sums = sums_of(task);
  if (schedule_.micro_batches > 1 && task.stream == schedule::Stream::kCompute) {
    return issue_accumulate(task, from, sums, {});
  }
  void* to = advance(memory_now(task.destination),
                     layout.first_element * program::element_bytes(gradient.dtype));
  if (sums.sums == nullptr) return issue_copy(task, to, from, gradient.bytes());
  const kernels::Element type = element_of(gradient.dtype);
  run(task, [to, from, type, n, sums](StreamOperations& operations) {
    operations.copy_and_sum_squares(to, from, type, n, sums);
  });
}

std::int64_t Executor::shard_bytes(const Task& task) const {
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  return plan::shard_bytes(parts_.plan, chunk, chunk.dtype);
}

void Executor::issue_gather(const Task& task) {
  const int rank = parts_.ranks.rank();
  const plan::RankGroup group = grid_.same_replica(rank);
  void* block = parts_.buffers.at(task.destination);
  const std::int64_t bytes = shard_bytes(task);
  const void* own = task.source >= 0 ? parts_.buffers.at(task.source)
                                     : advance(block, group.position(rank) * bytes);
  under_way_.back().traffic.collective_bytes += task.bytes;
  run(task, [group, block, own, bytes](StreamOperations& operations) {
    operations.all_gather(group, block, own, bytes);
  });
  chunks_.bind(task.chunk, block);
}

void Executor::issue_reduce(const Task& task) {
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  const int rank = parts_.ranks.rank();
  const bool by_nccl = plan::reduces_by_nccl(parts_.plan);
  const std::int64_t shard_elements = plan::shard_elements(parts_.plan, chunk);
  const std::int64_t elements = by_nccl ? shard_elements : shard_elements / grid_.replicas;
  const program::DType exchanged = plan::exchanged_dtype(parts_.plan, chunk.dtype);
  const std::int64_t bytes = elements * program::element_bytes(exchanged);
  const std::int64_t sum_bytes = elements * program::element_bytes(chunk.gradient_dtype);
  const void* block = parts_.buffers.at(task.source);
  void* shard = parts_.buffers.at(task.destination);
  void* exchange = parts_.buffers.find(BufferRole::kExchange, -1);
  const bool adds = schedule::adds_to_sum(task, parts_.plan);
  // Of what NCCL has added up, one part is left.
  const SumParts sum{.to = advance(shard, by_nccl ? 0 : grid_.replica_of(rank) * sum_bytes),
                     .to_type = element_of(chunk.gradient_dtype),
                     .from = exchange,
                     .type = element_of(exchanged),
                     .parts = static_cast<std::size_t>(by_nccl ? 1 : grid_.world),
                     .n = static_cast<std::size_t>(elements),
                     .how = adds ? kernels::Accumulate::kAdd : kernels::Accumulate::kFirst};
  std::vector<kernels::SummedPart> squares;
  if (task.sums_squares) squares = parts_.optimizer->parts_of(task.chunk);
  under_way_.back().traffic.collective_bytes += task.bytes;
  run(task,
      [grid = grid_,
       group = grid_.same_shard(rank),
       shares = schedule::shares_parts(task, parts_.plan),
       by_nccl,
       exchange,
       block,
       bytes,
       sum,
       shard,
       sum_bytes,
       squares = std::move(squares)](StreamOperations& operations) {
        if (by_nccl) {
          operations.reduce_scatter(grid, exchange, block, sum.n, sum.type);
        } else {
          operations.all_to_all(grid, exchange, block, bytes);
        }
        if (!shares) return operations.sum_parts(sum, squares);
        // Ranks that hold the same shard have each added up a part of it.
        operations.sum_parts(sum, {});
        operations.all_gather(group, shard, sum.to, sum_bytes);
        operations.sum_squares_of_parts(shard, sum.to_type, squares);
      });
}

void Executor::issue_accumulate_shard(const Task& task) {
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  auto* sum = static_cast<float*>(parts_.buffers.at(task.destination));
  const void* landed = parts_.buffers.at(task.source);
  const auto n = static_cast<std::size_t>(plan::shard_elements(parts_.plan, chunk));
  const auto how = task.micro_batch == 0 ? kernels::Accumulate::kFirst : kernels::Accumulate::kAdd;
  const SpentMemory read = given_up(task.source, static_cast<std::int64_t>(n * sizeof(float)));
  std::vector<kernels::SummedPart> squares;
  if (task.sums_squares) squares = parts_.optimizer->parts_of(task.chunk);
  run(task,
      [sum, landed, n, how, read, squares = std::move(squares)](StreamOperations& operations) {
        operations.accumulate(sum, landed, kernels::Element::kFloat32, n, how, {});
        if (read.bytes > 0) operations.poison(read.memory, read.bytes);
        operations.sum_squares_of_parts(sum, kernels::Element::kFloat32, squares);
      });
}

void Executor::issue_share_buffers(const Task& task) {
  struct Shared {
    void* memory;
    std::int64_t bytes;
  };
  std::vector<Shared> shared;
  for (const program::Buffer& buffer : program_.buffers) {
    if (!buffer.mutated) continue;
    const c10::Storage& storage = storage_of(buffer);
    shared.push_back({storage.mutable_data(), static_cast<std::int64_t>(storage.nbytes())});
  }
  run(task, [shared = std::move(shared)](StreamOperations& operations) {
    for (const Shared& buffer : shared) operations.broadcast(0, buffer.memory, buffer.bytes);
  });
}

void Executor::issue_accumulate(const Task& task) {
  if (parts_.plan.world > 1) return issue_accumulate_shard(task);
  const ParameterLayout& layout = parts_.layouts[task.parameter];
  const program::TensorRef& gradient = *program_.parameters[task.parameter].gradient;
  void* landed = advance(parts_.buffers.at(task.source),
                         layout.first_element * program::element_bytes(gradient.dtype));
  SpentMemory read;
  if (parts_.poison != nullptr) read = {.memory = landed, .bytes = gradient.bytes()};
  issue_accumulate(task, landed, sums_of(task), read);
}

void Executor::issue_accumulate(const Task& task,
                                const void* gradient,
                                const kernels::BlockSums& sums,
                                SpentMemory spent) {
  const ParameterLayout& layout = parts_.layouts[task.parameter];
  auto* sum = static_cast<float*>(parts_.buffers.at(task.destination)) + layout.first_element;
  const auto how = task.micro_batch == 0 ? kernels::Accumulate::kFirst : kernels::Accumulate::kAdd;
  const kernels::Element type = element_of(program_.parameters[task.parameter].gradient->dtype);
  const auto n = static_cast<std::size_t>(layout.elements);
  run(task, [sum, gradient, type, n, how, sums, spent](StreamOperations& operations) {
    operations.accumulate(sum, gradient, type, n, how, sums);
    if (spent.bytes > 0) operations.poison(spent.memory, spent.bytes);
  });
}

void Executor::issue_norm(const Task& task) {
  const void* gradient = made_gradient(task);
  const kernels::Element type = element_of(program_.parameters[task.parameter].gradient->dtype);
  const auto n = static_cast<std::size_t>(parts_.layouts[task.parameter].elements);
  const kernels::BlockSums sums = parts_.optimizer->sums_of(task.parameter);
  run(task, [gradient, type, n, sums](StreamOperations& operations) {
    operations.sum_squares(gradient, type, n, sums);
  });
}

}  // namespace elixir::runtime
