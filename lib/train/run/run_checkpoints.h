// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The checkpoints of one run: when they are due, and which one is the newest.

#include <cstdint>
#include <functional>
#include <optional>

#include "core/error.h"
#include "runtime/trainer.h"
#include "train/run/checkpoint.h"
#include "train/run/run_directory.h"
#include "train/run/run_setup.h"

namespace elixir::train {

class RunCheckpoints {
 public:
  /// `newest_step`: of the checkpoint that the run goes on from. What is passed by reference must
  /// outlive this.
  RunCheckpoints(const RunDirectory& directory,
                 const RunInputs& inputs,
                 const RunOptions& options,
                 std::optional<std::int64_t> newest_step);

  /// After a step: every so many.
  [[nodiscard]] bool due_after(std::int64_t step) const;
  /// When the loop ends. Asked for none, and nothing to go on with: none. An interrupted run always
  /// leaves one.
  [[nodiscard]] bool due_at_end(bool all_steps_done) const;
  /// Nothing when the newest one is of this step. `progress` is told the share that is written.
  void write(runtime::Trainer& trainer, const std::function<void(double)>& progress);

  [[nodiscard]] std::optional<std::int64_t> newest_step() const { return newest_step_; }
  /// Says in `error`, which ends the run, what is left to go on from.
  void note_newest(Error& error) const;

 private:
  const RunDirectory& directory_;
  const RunInputs& inputs_;
  const RunOptions& options_;
  std::optional<std::int64_t> newest_step_;
};

}  // namespace elixir::train
