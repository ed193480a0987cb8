// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The index of a checkpoint of several ranks: which elements of each tensor are in which rank's
// file. In the file of rank r, tensor NAME has the elements of r in one dimension. The index is the
// key `tensors` of the checkpoint's state.json.

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "program/program.h"
#include "train/run/shards/state_shard.h"

namespace elixir::train {

/// A part of a tensor, in the file of `rank`.
struct StoredPiece {
  int rank = 0;
  runtime::HeldElements elements;
};

struct StoredTensor {
  std::string name;
  program::DType dtype = program::DType::kFloat32;
  std::vector<std::int64_t> sizes, strides;
  std::vector<StoredPiece> pieces;  ///< in order; together the whole tensor

  [[nodiscard]] std::int64_t elements() const;
};

/// "rank-1-of-4.safetensors".
[[nodiscard]] std::string rank_file_name(int rank, int world);
/// How many ranks the files `names` of a checkpoint are of; 0 when they are not those of ranks.
[[nodiscard]] int ranks_of_files(const std::vector<std::string>& names);

[[nodiscard]] Json index_of(const std::vector<StateShard>& shards);
/// Throws kBadCheckpoint and kJson… unless every tensor is whole.
[[nodiscard]] std::vector<StoredTensor> read_index(const JsonCursor& tensors, int world);

/// Strides of a tensor whose last dimension is the innermost.
[[nodiscard]] std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& sizes);
/// Whether both say the same of a tensor of these sizes.
[[nodiscard]] bool same_order(const std::vector<std::int64_t>& sizes,
                              const std::vector<std::int64_t>& strides,
                              const std::vector<std::int64_t>& others);

}  // namespace elixir::train
