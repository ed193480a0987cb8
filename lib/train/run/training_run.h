// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A training run, from the first weights to the last checkpoint:
//
//   train::RunObserver silent;
//   train::TrainingRun run(inputs, options, /*from=*/std::nullopt, silent);  // fills the weights
//   auto directory = train::RunDirectory::create("gpt2.run", Overwrite::kRefuse);
//   run.begin(directory, /*choices=*/{});                  // config.json; from here on it writes
//   const train::RunResult result = run.train();
//
// Use it from one thread, with one run per process (trainer.h). With several ranks it is for rank
// 0; the others follow (follower.h). An interrupt (core/interrupt.h) ends the run between two steps
// and leaves a checkpoint. find_resume_point() (resume.h) finds that checkpoint.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/json.h"
#include "runtime/trainer.h"
#include "schedule/simulate.h"
#include "train/run/checkpoint.h"
#include "train/run/ranks/led_trainer.h"
#include "train/run/ranks/rank_times.h"
#include "train/run/run_checkpoints.h"
#include "train/run/run_directory.h"
#include "train/run/run_observer.h"
#include "train/run/run_setup.h"

namespace elixir::train {

/// The result of a run. Losses are of the steps that this process did.
struct RunResult {
  bool all_steps_done = false;  ///< false: interrupted
  std::int64_t steps_done = 0;  ///< including those before the checkpoint
  std::optional<double> first_loss, last_loss;
  std::optional<double> first_held_out_loss, held_out_loss;
  std::int64_t skipped_here = 0;  ///< steps of this process that the loss scale has skipped
  std::optional<runtime::LossScaleState> loss_scale;  ///< after the last step
  std::optional<std::int64_t> checkpoint_step;        ///< of the newest one
  std::vector<TimedStep> times;                       ///< the newest that was timed, by rank
};

/// Steps of one process, both included.
struct StepRange {
  std::int64_t first = 1, last = 1;
};
/// Whether to time the tasks of a step. That costs some microseconds of each, so it is done now and
/// then, and in the last step but one: no next step runs beside the updates of the last. Likewise
/// not in multiples of 16, after which runs like to write checkpoints. Of one or two steps all are
/// timed.
[[nodiscard]] bool times_tasks(std::int64_t step, const StepRange& run);

class TrainingRun {
 public:
  /// Creates the trainer, and fills it with the first weights unless begin() restores checkpoint
  /// `from`. Writes nothing. The references must stay valid for the life of this object. Throws the
  /// errors of Trainer's constructor. An interrupt throws Interrupted.
  TrainingRun(const RunInputs& inputs,
              RunOptions options,
              std::optional<FoundCheckpoint> from,
              RunObserver& observer);

  /// Call this once, before train(). Restores the checkpoint, of `directory`, and begins an attempt
  /// there (RunDirectory::begin()). Throws kOutputUnwritable when a rank does not see `directory`,
  /// and the errors of restore_checkpoint(). `directory` must outlive this object. If it fails in a
  /// new directory, that directory is removed.
  void begin(RunDirectory& directory, const RunChoices& choices);
  /// Runs all remaining steps. Throws the errors of Trainer::step(), write_checkpoint() and
  /// RunDirectory::append_metrics(). They name the checkpoint that remains.
  RunResult train();
  /// The held-out loss now; nullopt without held-out data, or when interrupted.
  [[nodiscard]] std::optional<double> evaluate();

  /// After train(), when `error` has kept its result from being exported: writes a checkpoint where
  /// there is none of the last step, and says in `error` where it is. Returns the newest one's
  /// step.
  std::optional<std::int64_t> keep(Error& error);

  [[nodiscard]] LedTrainer& trainer() { return *trainer_; }

 private:
  void fill();
  void train_steps();
  runtime::PendingStep start_step(std::int64_t step);
  void finish_step(const runtime::PendingStep& step);
  void write_checkpoint();
  [[nodiscard]] bool evaluates_after(std::int64_t step) const;

  const RunInputs& inputs_;
  RunOptions options_;
  std::optional<FoundCheckpoint> from_;
  RunObserver& observer_;
  std::optional<LedTrainer> trainer_;
  RunDirectory* directory_ = nullptr;
  std::optional<RunCheckpoints> checkpoints_;
  RunResult result_;
  std::int64_t first_step_ = 0;  ///< of this process
  TimedStep times_;              ///< the newest
};

}  // namespace elixir::train
