// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A program ready to run: its executed calls prepared once, and what each leaves to be released.
// The caller owns the storages: a table with parameters, buffers, inputs and constants in it, one
// per micro-batch in flight.

#include <map>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "program/lifetimes.h"
#include "program/program.h"
#include "replay/replay_call.h"

namespace elixir::replay {

class ProgramReplay {
 public:
  /// kMissingKernel as ReplayCall.
  explicit ProgramReplay(program::Program program);

  [[nodiscard]] const program::Program& program() const { return program_; }
  [[nodiscard]] const program::Lifetimes& lifetimes() const { return lifetimes_; }

  /// Runs the executed operators of [first, last) on `storages` and releases what each used last.
  /// Needs a ReplayScope. An Error or exception of LibTorch leaves `failed_operator()`
  /// behind.
  void run(StorageTable& storages, program::OperatorId first, program::OperatorId last);
  /// The operator that the last run() stopped in; nullptr when it went through.
  [[nodiscard]] const program::Operator* failed_operator() const;

  /// Releases every storage that operators make.
  void release_produced(StorageTable& storages) const;

 private:
  program::Program program_;
  program::Lifetimes lifetimes_;
  /// Runs one call; one that repeats another draws what that one drew.
  void call(program::OperatorId id, StorageTable& storages);

  std::vector<std::optional<ReplayCall>> calls_;  ///< by operator id; empty for pure views
  c10::Device device_;
  /// By operator id, for random calls that another repeats: the generator's state before the last
  /// run, which is that of the same micro-batch (its backward ends before the next one begins).
  std::map<program::OperatorId, at::Tensor> drawn_from_;
  std::vector<program::StorageId> produced_;
  program::OperatorId running_ = -1;
};

}  // namespace elixir::replay
