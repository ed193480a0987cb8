// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The tensors of a checkpoint, whoever wrote it: one process (whole tensors in two files) or
// several ranks (a file each, and an index). Any range of a tensor's elements can be read; only
// that range is in memory.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/directory.h"
#include "core/json.h"
#include "train/run/shards/shard_index.h"
#include "train/weights/safetensors.h"

namespace elixir::train {

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kStateFile = "state.json";

/// state.json of a checkpoint. Throws kFileNotFound, kFileUnreadable, kIoError, kJson….
[[nodiscard]] std::shared_ptr<const JsonDocument> load_state(const Directory& checkpoint);

class StoredTensors {
 public:
  /// Opens the files of `checkpoint`. Throws kBadCheckpoint unless the files have what the index
  /// says; kBadSafetensors, and as load_state().
  static StoredTensors open(const Directory& checkpoint);

  /// nullptr: the checkpoint does not have it.
  [[nodiscard]] const StoredTensor* find(const std::string& name) const;
  [[nodiscard]] std::size_t count() const { return tensors_.size(); }
  /// These elements in one dimension, counted by `strides`. Throws as Safetensors::tensor().
  [[nodiscard]] at::Tensor read(const StoredTensor& tensor,
                                const std::vector<std::int64_t>& strides,
                                const runtime::HeldElements& elements) const;

 private:
  void add_whole(const Directory& checkpoint, const std::string& name);
  void add_pieces(const Directory& checkpoint, const JsonCursor& index, int world);
  /// Counted by the strides of `tensor`.
  [[nodiscard]] at::Tensor read_as_stored(const StoredTensor& tensor,
                                          const runtime::HeldElements& elements) const;

  std::vector<std::shared_ptr<const Safetensors>> files_;
  std::map<std::string, StoredTensor> tensors_;
};

}  // namespace elixir::train
