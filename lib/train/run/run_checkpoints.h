// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The checkpoints of one run: when to write one, and which one is the newest.

#include <cstdint>
#include <functional>
#include <optional>

#include "core/error.h"
#include "train/run/checkpoint.h"
#include "train/run/ranks/led_trainer.h"
#include "train/run/run_directory.h"
#include "train/run/run_setup.h"

namespace elixir::train {

class RunCheckpoints {
 public:
  /// `newest_step` is that of the checkpoint from which the run continues. The references must stay
  /// valid for the life of this object.
  RunCheckpoints(const RunDirectory& directory,
                 const RunInputs& inputs,
                 const RunOptions& options,
                 std::optional<std::int64_t> newest_step);

  /// Whether a checkpoint is due after this step, by the interval of the options.
  [[nodiscard]] bool due_after(std::int64_t step) const;
  /// Whether a checkpoint is due when the loop ends. Not if the user asked for none and all steps
  /// are done. An interrupted run always writes one.
  [[nodiscard]] bool due_at_end(bool all_steps_done) const;
  /// Writes a checkpoint, unless the newest one is already of this step. `progress` gets the share
  /// written.
  void write(LedTrainer& trainer, const std::function<void(double)>& progress);

  [[nodiscard]] std::optional<std::int64_t> newest_step() const { return newest_step_; }
  /// Adds a note to `error`, which ends the run, on the checkpoint from which the run can continue.
  void note_newest(Error& error) const;

 private:
  const RunDirectory& directory_;
  const RunInputs& inputs_;
  const RunOptions& options_;
  std::optional<std::int64_t> newest_step_;
};

}  // namespace elixir::train
