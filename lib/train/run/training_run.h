// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A training run from its first weights to its last checkpoint:
//
//   train::RunObserver silent;
//   train::TrainingRun run(inputs, options, /*from=*/std::nullopt, silent);  // fills the weights
//   auto directory = train::RunDirectory::create("gpt2.run", Overwrite::kRefuse);
//   run.begin(directory, /*choices=*/{});                  // config.json; from here on it writes
//   const train::RunResult result = run.train();
//
// One thread, one run per process (trainer.h). An interrupt (core/interrupt.h) ends it between two
// steps and leaves a checkpoint; find_resume_point() (resume.h) finds it again.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/json.h"
#include "runtime/trainer.h"
#include "schedule/simulate.h"
#include "train/run/checkpoint.h"
#include "train/run/run_checkpoints.h"
#include "train/run/run_directory.h"
#include "train/run/run_observer.h"
#include "train/run/run_setup.h"

namespace elixir::train {

/// What a run has come to. Losses are of the steps that this process did.
struct RunResult {
  bool all_steps_done = false;  ///< false: interrupted
  std::int64_t steps_done = 0;  ///< those before the checkpoint included
  std::optional<double> first_loss, last_loss;
  std::optional<double> first_held_out_loss, held_out_loss;
  std::optional<std::int64_t> checkpoint_step;  ///< of the newest one
  std::vector<schedule::TaskTime> last_tasks;   ///< of the last step
};

class TrainingRun {
 public:
  /// Makes the trainer and fills it: from checkpoint `from`, or with the first weights. Writes
  /// nothing. What is passed by reference must outlive this. Errors of Trainer's constructor and of
  /// restore_checkpoint(); an interrupt ends it.
  TrainingRun(const RunInputs& inputs,
              RunOptions options,
              const std::optional<FoundCheckpoint>& from,
              RunObserver& observer);

  /// Once, before train(): writes config.json, with `choices` as its options, and drops metrics of
  /// steps that come again. `directory` must outlive this. A new directory that config.json cannot
  /// be written to is removed.
  void begin(RunDirectory& directory, const Json& choices);
  /// All steps that are left. Errors of Trainer::step(), write_checkpoint() and
  /// RunDirectory::append_metrics(); they name the checkpoint that stays.
  RunResult train();
  /// The held-out loss now; nullopt without held-out data, or when it was interrupted.
  [[nodiscard]] std::optional<double> evaluate();

  [[nodiscard]] runtime::Trainer& trainer() { return *trainer_; }

 private:
  void fill(const std::optional<FoundCheckpoint>& from);
  void train_steps();
  void one_step(std::int64_t step);
  void write_checkpoint();
  [[nodiscard]] bool evaluates_after(std::int64_t step) const;

  const RunInputs& inputs_;
  RunOptions options_;
  RunObserver& observer_;
  std::optional<runtime::Trainer> trainer_;
  RunDirectory* directory_ = nullptr;
  std::optional<RunCheckpoints> checkpoints_;
  RunResult result_;
};

}  // namespace elixir::train
