// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/trainer_test_case.h"

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>

namespace elixir::runtime {

TrainerOptions options_with(const TrainingRun& run) {
  TrainerOptions options;
  options.optimizer = run.optimizer;
  options.seed = run.seed;
  options.cpu_threads = run.threads;
  options.poison_evicted = true;
  return options;
}

ErrorCode code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.info().code;
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kInternal;
}

State state_of(Trainer& trainer) {
  State state;
  for (const program::Parameter& parameter : trainer.program().parameters) {
    for (const StatePart part :
         {StatePart::kParameter, StatePart::kMaster, StatePart::kMoment1, StatePart::kMoment2}) {
      state[{parameter.name, part}] = trainer.state(parameter.name, part);
    }
  }
  return state;
}

void expect_equal(const State& a, const State& b) {
  for (const auto& [key, tensor] : a) {
    EXPECT_TRUE(at::equal(tensor, b.at(key))) << key.first << " " << name_of(key.second);
  }
}

TrainerTest::TrainerTest() : model_(model_path("gpt2-tiny"), 512, kCpu) {
  at::set_num_threads(1);
}

std::unique_ptr<Trainer> TrainerTest::make(const plan::Plan& plan) const {
  return std::make_unique<Trainer>(model_.captured(), plan, options_with(run_), model_.weights());
}

StepReport TrainerTest::step(Trainer& trainer, const StepOptions& options) const {
  const std::int64_t next = trainer.steps_done() + 1;
  return trainer.step(model_.batch(next, trainer.plan().accumulation_steps), kLearningRate, options)
      .report();
}

}  // namespace elixir::runtime
