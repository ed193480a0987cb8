// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The real tensors of one recorded call: storages that arguments share stay shared, data is
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
  /// Fresh outputs, each rounded up as the allocator counts it.
  [[nodiscard]] std::int64_t fresh_bytes() const;
  void release();
  [[nodiscard]] bool writes() const { return !pristine_.empty(); }
  void restore();
  [[nodiscard]] const replay::StorageTable& storages() const { return storages_; }
  /// Parameters were used long ago when a step comes back to them: out of the caches.
  void cool_parameters() const;

 private:
  replay::ReplayCall call_;
  replay::StorageTable storages_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pristine_;
  std::vector<std::pair<const void*, std::size_t>> parameters_;
};

}  // namespace elixir::measure
