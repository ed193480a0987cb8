// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What tests of the trainer share: GPT-2 on the CPU, and comparing all of its state.

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/error.h"
#include "runtime/trainer.h"
#include "runtime/training.h"

namespace elixir::runtime {

inline constexpr double kLearningRate = 1e-3;
inline constexpr program::Target kCpu{program::Target::Kind::kCpu, 0};

TrainerOptions options_with(const TrainingRun& run);

/// The code of the error that `act` throws; fails the test where it throws none.
ErrorCode code_of(const std::function<void()>& act);

using State = std::map<std::pair<std::string, StatePart>, at::Tensor>;

State state_of(Trainer& trainer);
void expect_equal(const State& a, const State& b);

class TrainerTest : public testing::Test {
 protected:
  TrainerTest();

  [[nodiscard]] std::unique_ptr<Trainer> make(const plan::Plan& plan) const;
  /// The next step, to its end.
  StepReport step(Trainer& trainer, const StepOptions& options = {}) const;

  TrainingRun run_;
  TestModel model_;
};

}  // namespace elixir::runtime
