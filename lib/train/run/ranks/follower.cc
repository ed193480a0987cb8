// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/follower.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include <ATen/ops/empty.h>

#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"
#include "train/run/ranks/rank_commands.h"
#include "train/run/training_state.h"

namespace elixir::train {
namespace {

class Follower {
 public:
  Follower(const RunInputs& inputs, const RunOptions& options)
      : inputs_(inputs), options_(options), control_(*options.ranks.control) {}

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
      case RankCall::kStep:
        steps_.push_back(trainer_->step(batch_of_step(inputs_, options_, command.number),
                                        command.value,
                                        {.time_tasks = command.flag}));
        return;
      case RankCall::kWait:
        return wait(command.number);
      case RankCall::kState:
        static_cast<void>(trainer_->state(command.name, command.part));
        return;
      case RankCall::kSetState:
        return trainer_->set_state(
            command.name, command.part, received(parameter_ref(command.name, command.part)));
      case RankCall::kSetBuffer:
        return trainer_->set_buffer(command.name, received(buffer_ref(command.name)));
      case RankCall::kSetStepsDone:
        return trainer_->set_steps_done(command.number);
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
    oldest.wait();
  }

  /// Of a value that a checkpoint brings.
  [[nodiscard]] program::TensorRef parameter_ref(const std::string& name,
                                                 runtime::StatePart part) const {
    for (const program::Parameter& parameter : trainer_->program().parameters) {
      if (parameter.name != name) continue;
      program::TensorRef ref = parameter.tensor;
      if (part != runtime::StatePart::kParameter) ref.dtype = program::DType::kFloat32;
      return ref;
    }
    throw Error(ErrorCode::kInternal, "rank 0 names parameter {}", name);
  }
  [[nodiscard]] program::TensorRef buffer_ref(const std::string& name) const {
    for (const program::Buffer& buffer : trainer_->program().buffers) {
      if (buffer.name == name) return buffer.tensor;
    }
    throw Error(ErrorCode::kInternal, "rank 0 names buffer {}", name);
  }
  [[nodiscard]] at::Tensor received(const program::TensorRef& ref) const {
    at::Tensor value =
        at::empty(ref.sizes, at::TensorOptions().dtype(capture::scalar_type(ref.dtype)));
    control_.broadcast(0, value.mutable_data_ptr(), static_cast<std::int64_t>(value.nbytes()));
    return value;
  }

  const RunInputs& inputs_;
  const RunOptions& options_;
  runtime::Communicator& control_;
  std::optional<runtime::Trainer> trainer_;
  std::deque<runtime::PendingStep> steps_;  ///< not yet waited for
};

}  // namespace

void follow(const RunInputs& inputs, const RunOptions& options) {
  require(options.ranks.rank() > 0, "rank 0 follows nobody");
  Follower(inputs, options).run();
}

}  // namespace elixir::train
