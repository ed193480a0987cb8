// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// With several ranks, rank 0 runs the training and tells the others which calls of a trainer to
// make (led_trainer.h, follower.h). Here: how it says so, over the control way of runtime::Ranks.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/loss_scaler.h"
#include "runtime/ranks/communicator.h"
#include "runtime/state_part.h"

namespace elixir::train {

enum class RankCall : std::int32_t {
  kBegin,              ///< `flag`: a checkpoint brings the state; `number`: CPU threads
  kStep,               ///< `number`: the step; `value`: the learning rate, and `value_after_skip`
                       ///< if the step before is skipped; `flag`: time its tasks
  kWait,               ///< `number`: the step, one of the two newest
  kState,              ///< `name`, `part`
  kJoin,               ///< `name`: the attempt's id, then the path of the run directory
  kRestore,            ///< `name`: of the checkpoint
  kSaveShards,         ///< `name`: of the directory for a file of each rank
  kSetStepsDone,       ///< `number`, `loss_scale`
  kPrepareEvaluation,  ///
  kEvaluate,           ///< `number`: the batch; `of`: how many there are
  kTimes,              ///< gather_times() (rank_times.h)
  kEnd
};

struct RankCommand {
  RankCall call = RankCall::kEnd;
  std::int64_t number = 0, of = 0;
  double value = 0, value_after_skip = 0;
  bool flag = false;
  runtime::StatePart part = runtime::StatePart::kParameter;
  std::string name = {};
  runtime::LossScaleState loss_scale = {};
};

[[nodiscard]] std::string encode(const RankCommand& command);
/// nullopt: no rank sends it.
[[nodiscard]] std::optional<RankCommand> decode_command(std::string_view payload);

/// Lets ranks end that have not begun. There may be one rank.
void end_followers(const runtime::Ranks& ranks);
/// Rank 0 sends, every other one receives.
void send(const RankCommand& command, runtime::Communicator& control);
[[nodiscard]] RankCommand receive(runtime::Communicator& control);

}  // namespace elixir::train
