// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/follower.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "core/error.h"
#include "train/run/ranks/rank_checkpoints.h"
#include "train/run/ranks/rank_commands.h"
#include "train/run/ranks/rank_times.h"
#include "train/run/step_labels.h"
#include "train/run/training_state.h"

namespace elixir::train {
namespace {

class Follower {
 public:
  Follower(const RunInputs& inputs, const RunOptions& options, std::optional<JoinedRun>& joined)
      : inputs_(inputs), options_(options), joined_(joined), control_(*options.ranks.control) {}

  void run() {
    const RankCommand first = receive(control_);
    if (first.call == RankCall::kEnd) return;  // a dry run, or too little memory
    begin(first);
    for (;;) {
      const RankCommand command = receive(control_);
      if (command.call == RankCall::kEnd) return;
      make(command);
    }
  }

 private:
  void begin(const RankCommand& command) {
    require(command.call == RankCall::kBegin, "rank 0 does not begin");
    runtime::TrainerOptions wanted = trainer_options(inputs_, options_);
    wanted.cpu_threads = static_cast<int>(command.number);
    const runtime::TensorSource source =
        command.flag ? without_checkpointed(inputs_.captured.program, inputs_.weights)
                     : inputs_.weights;
    trainer_.emplace(inputs_.captured, inputs_.plan, std::move(wanted), source);
  }

  void make(const RankCommand& command) {
    switch (command.call) {
      case RankCall::kStep: {
        const runtime::MicroBatches batch = batch_of_step(inputs_, options_, command.number);
        steps_.push_back(trainer_->step(batch,
                                        command.value,
                                        {.time_tasks = command.flag,
                                         .labels = labels_.of(batch, inputs_, *trainer_),
                                         .rate_after_skip = command.value_after_skip}));
        return;
      }
      case RankCall::kWait:
        return wait(command.number);
      case RankCall::kState:
        static_cast<void>(trainer_->state(command.name, command.part));
        return;
      case RankCall::kJoin:
        return join_with_others(command.name.substr(kIdLetters),
                                command.name.substr(0, kIdLetters),
                                options_.ranks,
                                joined_);
      case RankCall::kRestore:
        return restore_shards(checkpoints(), command.name, *trainer_, options_.ranks);
      case RankCall::kSaveShards:
        static_cast<void>(save_shards(checkpoints(), command.name, *trainer_, options_.ranks));
        return;
      case RankCall::kTimes:
        static_cast<void>(gather_times(times_, &control_));
        return;
      case RankCall::kSetStepsDone:
        trainer_->set_steps_done(command.number);
        return trainer_->set_loss_scale(command.loss_scale);
      case RankCall::kPrepareEvaluation:
        return trainer_->prepare_evaluation(inputs_.held_out->program);
      case RankCall::kEvaluate: {
        const HeldOut& held_out = *inputs_.held_out;
        static_cast<void>(trainer_->evaluate(
            held_out.program, held_out.data->evaluation(command.number, command.of)));
        return;
      }
      case RankCall::kBegin:
      case RankCall::kEnd:
        break;
    }
    require(false, "rank 0 asks for what no rank does");
  }

  /// Each step is waited for once, in order.
  void wait(std::int64_t step) {
    require(!steps_.empty() && steps_.front().number() == step, "rank 0 waits for another step");
    const runtime::PendingStep oldest = steps_.front();
    steps_.pop_front();
    runtime::StepReport report = oldest.report();
    times_.take(report);
  }

  [[nodiscard]] const Directory& checkpoints() const {
    require(joined_.has_value(), "rank 0 does not say where the run is");
    return joined_->checkpoints;
  }

  const RunInputs& inputs_;
  const RunOptions& options_;
  std::optional<JoinedRun>& joined_;
  runtime::Communicator& control_;
  std::optional<runtime::Trainer> trainer_;
  StepLabels labels_;
  std::deque<runtime::PendingStep> steps_;  ///< not yet waited for
  TimedStep times_;                         ///< the newest
};

}  // namespace

void follow(const RunInputs& inputs, const RunOptions& options, std::optional<JoinedRun>& joined) {
  require(options.ranks.rank() > 0, "rank 0 follows nobody");
  Follower(inputs, options, joined).run();
}

}  // namespace elixir::train
