// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The file that a rank writes of a checkpoint: its elements of every tensor.

#include <functional>
#include <string>
#include <vector>

#include "train/run/checkpoint.h"
#include "train/run/shards/state_shard.h"

namespace elixir::train {

/// Writes rank-`rank`-of-`world`.safetensors into `directory`. It is on the disk when this returns.
/// `progress`, if given, gets the share written so far. Throws as Directory::write_streamed().
CheckpointFile write_rank_file(const Directory& directory,
                               int rank,
                               int world,
                               const std::vector<StateShard>& shards,
                               const std::function<void(double)>& progress = {});

}  // namespace elixir::train
