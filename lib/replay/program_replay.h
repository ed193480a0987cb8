// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A program that is ready to run. Its executed calls are prepared once, and so is the list of
// storages that each call releases. The caller owns the storages. It must provide one table per
// micro-batch in flight, filled with parameters, buffers, inputs and constants.

#include <functional>
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
  /// Throws kMissingKernel, as ReplayCall does.
  explicit ProgramReplay(program::Program program);

  [[nodiscard]] const program::Program& program() const { return program_; }
  [[nodiscard]] const program::Lifetimes& lifetimes() const { return lifetimes_; }

  struct RunOptions {
    /// Called with each storage before it is released; may be empty.
    std::function<void(const c10::Storage&)> before_release;
    /// Results of products (operators::has_out_variant) whose storages are in the table already:
    /// they are written there.
    std::vector<program::StorageId> given;
  };
  /// Runs the executed operators of [first, last) on `storages`, and releases storages after their
  /// last use. Of an offloaded activation it only makes the memory that it comes back to: the
  /// caller copies between the operators that begin and end a copy (operators/own.h). Needs a
  /// ReplayScope. After an Error or an exception of LibTorch, failed_operator() is set.
  void run(StorageTable& storages,
           program::OperatorId first,
           program::OperatorId last,
           const RunOptions& options = {});
  /// The operator in which the last run() failed; nullptr when it succeeded.
  [[nodiscard]] const program::Operator* failed_operator() const;

  /// Releases every storage that operators produce.
  void release_produced(StorageTable& storages) const;

 private:
  program::Program program_;
  program::Lifetimes lifetimes_;
  /// Runs one call. A call that repeats another one uses the same random numbers.
  void call(program::OperatorId id,
            StorageTable& storages,
            const std::vector<program::StorageId>& given);
  /// The part of an activation's way to the host and back that is a replay's.
  void move(program::OperatorId id, StorageTable& storages) const;

  std::vector<std::optional<ReplayCall>>
      calls_;  ///< by operator id; empty for calls that only make views, and for movements
  std::map<program::OperatorId, program::StorageId> reloads_;  ///< what they make memory for
  c10::Device device_;
  /// By operator id, for random calls that another call repeats: the generator's state before the
  /// last run. That run is in the same micro-batch, because its backward ends before the next
  /// micro-batch begins.
  std::map<program::OperatorId, at::Tensor> drawn_from_;
  std::vector<program::StorageId> produced_;
  program::OperatorId running_ = -1;
};

}  // namespace elixir::replay
