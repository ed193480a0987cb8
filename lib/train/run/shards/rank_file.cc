// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/shards/rank_file.h"

#include "train/run/shards/shard_index.h"
#include "train/weights/safetensors.h"

namespace elixir::train {

CheckpointFile write_rank_file(const Directory& directory,
                               int rank,
                               int world,
                               const std::vector<StateShard>& shards,
                               const std::function<void(double)>& progress) {
  const auto held_by_rank = [rank](const StateShard& shard) {
    return shard.saved[static_cast<std::size_t>(rank)].count;
  };
  const auto bytes_of_rank = [&](const StateShard& shard) {
    return static_cast<double>(held_by_rank(shard) * program::element_bytes(shard.dtype));
  };
  double total_bytes = 1, done_bytes = 0;
  for (const StateShard& shard : shards) total_bytes += bytes_of_rank(shard);
  std::vector<SafetensorsSource> sources;
  for (const StateShard& shard : shards) {
    if (held_by_rank(shard) == 0) continue;
    sources.push_back({shard.name, shard.dtype, {held_by_rank(shard)}, [&] {
                         if (progress) progress(done_bytes / total_bytes);
                         done_bytes += bytes_of_rank(shard);
                         return shard.read();
                       }});
  }
  const std::string name = rank_file_name(rank, world);
  directory.write_streamed(name, Overwrite::kRefuse, safetensors_content(std::move(sources), {}));
  return checkpoint_file(directory, name);
}

}  // namespace elixir::train
