// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The real tensors of one recorded call. Arguments that share a storage still share it, the data is
// ordinary (no denormals, valid indices), and what the call writes can be restored.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "program/program.h"
#include "replay/replay_call.h"

namespace elixir::measure {

class OperatorStage {
 public:
  OperatorStage(const program::Program& program, const program::Operator& op, bool on_cuda);

  void run() { call_.run(storages_); }
  /// Bytes of fresh outputs, each rounded up as the allocator does.
  [[nodiscard]] std::int64_t fresh_bytes() const;
  void release();
  [[nodiscard]] bool writes() const { return !pristine_.empty(); }
  void restore();
  [[nodiscard]] const replay::StorageTable& storages() const { return storages_; }
  /// Removes parameters from the caches, because in a real step they were last used long ago.
  void cool_parameters() const;

 private:
  replay::ReplayCall call_;
  replay::StorageTable storages_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pristine_;
  std::vector<std::pair<const void*, std::size_t>> parameters_;
};

}  // namespace elixir::measure
