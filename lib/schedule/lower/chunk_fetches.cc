// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/chunk_fetches.h"

#include <utility>

#include "core/error.h"

namespace elixir::schedule {

using plan::Chunk;
using plan::Home;

ChunkFetches::ChunkFetches(const plan::Plan& plan,
                           std::vector<Load> loads,
                           const StepBuffers& buffers,
                           std::vector<ChunkTasks>& chunk_tasks,
                           TaskList& tasks)
    : plan_(plan),
      buffers_(buffers),
      chunk_tasks_(chunk_tasks),
      tasks_(tasks),
      loads_(std::move(loads)) {}

std::vector<TaskId> ChunkFetches::awaited_at(std::int64_t here) {
  std::vector<TaskId> awaited;
  while (loads_.needs_at(here)) {
    awaited.push_back(loads_.next_needed().loaded);
    require(awaited.back() >= 0, "a chunk is needed before its load is issued");
  }
  return awaited;
}

void ChunkFetches::fetch_freed(std::int64_t here, int micro_batch) {
  while (loads_.frees_at(here)) {
    Load& load = loads_.next_freed();
    TaskId evicted = -1;
    if (load.victim >= 0) {
      evicted = tasks_.add({.kind = TaskKind::kEvict,
                            .stream = Stream::kCompute,
                            .micro_batch = micro_batch,
                            .chunk = load.victim,
                            .source = load.block},
                           {});
    }
    issue(load, evicted, micro_batch);
  }
}

void ChunkFetches::issue(Load& load, TaskId evicted, int micro_batch) {
  const Chunk& chunk = plan_.chunks[load.chunk];
  const BufferId home = buffers_.of_chunk[load.chunk].parameters;
  const bool from_host = chunk.parameter_home == Home::kHost;
  TaskId fetched = -1;
  if (from_host) {
    fetched = load.loaded = tasks_.add({.kind = TaskKind::kFetch,
                                        .stream = Stream::kHostToDevice,
                                        .micro_batch = micro_batch,
                                        .chunk = load.chunk,
                                        .source = home,
                                        .destination = load.block,
                                        .bytes = plan::shard_bytes(plan_, chunk, chunk.dtype)},
                                       {evicted});
  }
  if (plan::grid_of(plan_).shards() > 1) {
    load.loaded = tasks_.add({.kind = TaskKind::kGather,
                              .stream = Stream::kCollective,
                              .micro_batch = micro_batch,
                              .chunk = load.chunk,
                              .source = from_host ? -1 : home,
                              .destination = load.block,
                              .bytes = chunk.bytes},
                             {evicted, fetched});
  }
  ChunkTasks& tasks = chunk_tasks_[load.chunk];
  tasks.home_read = from_host ? fetched : load.loaded;
  if (tasks.first_home_read < 0) tasks.first_home_read = tasks.home_read;
  BlockUse& block = block_uses_[load.block];
  if (block.first_load < 0) block.first_load = tasks.home_read;
  block.holds = load.chunk;
}

void ChunkFetches::link_steps() const {
  for (const ChunkTasks& chunk : chunk_tasks_) tasks_.link(chunk.first_home_read, chunk.updated);
  for (const auto& [block, use] : block_uses_) {
    tasks_.link(use.first_load, chunk_tasks_[use.holds].reader);
  }
}

}  // namespace elixir::schedule
