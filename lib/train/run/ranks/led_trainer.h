// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The trainer of rank 0, whose calls every other rank makes too (follower.h). With one rank it is
// just the trainer.

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/trainer.h"
#include "train/run/checkpoint.h"
#include "train/run/ranks/rank_commands.h"
#include "train/run/ranks/rank_times.h"
#include "train/run/run_directory.h"
#include "train/run/run_setup.h"

namespace elixir::train {

class LedTrainer {
 public:
  /// `from_checkpoint`: the state comes by restore(), so that no rank reads first weights.
  /// `options.ranks` are those of the run. Both references must outlive this object.
  LedTrainer(const RunInputs& inputs,
             runtime::TrainerOptions options,
             bool from_checkpoint,
             const runtime::TensorSource& source);
  /// Lets the other ranks end, except when an exception ends this one.
  ~LedTrainer();
  LedTrainer(const LedTrainer&) = delete;
  LedTrainer& operator=(const LedTrainer&) = delete;

  /// Begins step `number`, the one after the newest, with the learning rate of its update. `batch`
  /// is this rank's.
  [[nodiscard]] runtime::PendingStep step(std::int64_t number,
                                          const runtime::MicroBatches& batch,
                                          const LearningRate& learning_rate,
                                          runtime::StepOptions options);
  [[nodiscard]] runtime::StepReport report(const runtime::PendingStep& step);
  /// Of all ranks. `own` is this rank's.
  [[nodiscard]] std::vector<TimedStep> gather_times(const TimedStep& own);
  /// The loss of a batch of the held-out data, the same on every rank, and what it is a mean over:
  /// labels, or 1.
  struct BatchLoss {
    double loss = 0, labels = 1;
  };
  void prepare_evaluation();
  [[nodiscard]] BatchLoss evaluate(std::int64_t batch, std::int64_t batches);

  [[nodiscard]] at::Tensor state(const std::string& parameter, runtime::StatePart part);
  [[nodiscard]] at::Tensor buffer(const std::string& name) { return trainer_->buffer(name); }
  void set_steps_done(std::int64_t steps, const std::optional<runtime::LossScaleState>& scale);

  /// As in rank_checkpoints.h, on all ranks. The others must have joined the run directory before
  /// they use it; where there is one rank, join() does nothing.
  void join(const RunDirectory& run);
  [[nodiscard]] CheckpointContent save_shards(const Directory& checkpoints,
                                              const std::string& name,
                                              const std::function<void(double)>& progress);
  void restore(const Directory& checkpoints, const std::string& name);

  [[nodiscard]] std::int64_t steps_done() const { return trainer_->steps_done(); }
  [[nodiscard]] std::optional<runtime::LossScaleState> loss_scale() const {
    return trainer_->loss_scale();
  }
  [[nodiscard]] const program::Program& program() const { return trainer_->program(); }
  [[nodiscard]] const plan::Plan& plan() const { return trainer_->plan(); }
  [[nodiscard]] const schedule::Schedule& schedule() const { return trainer_->schedule(); }

 private:
  void tell(const RankCommand& command);

  const RunInputs& inputs_;
  runtime::Ranks ranks_;
  int exceptions_ = std::uncaught_exceptions();
  std::optional<runtime::Trainer> trainer_;
  struct Labels;
  std::unique_ptr<Labels> labels_;
};

}  // namespace elixir::train
