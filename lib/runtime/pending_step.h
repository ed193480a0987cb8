// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A step that Trainer::step() has started. Its optimizer updates may still run, beside the forward
// pass of the next step.
//
// The trainer must outlive it. Use it on the trainer's thread.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/step_report.h"

namespace elixir::runtime {

/// The mean of the losses that have a weight, by these weights; 0 when none has.
[[nodiscard]] double weighted_mean(const float* losses, const double* weights, std::size_t count);

class PendingStep {
 public:
  /// The outcome, shared with the trainer.
  struct Outcome {
    std::int64_t number = 0;
    std::optional<StepReport> report;  ///< once the step is settled
    double own_loss = 0;               ///< with `report`, which is of all ranks
    /// Of the micro-batches of all ranks, rank after rank; their mean is 1. 0: without labels.
    std::vector<double> weights;
    std::size_t first_own = 0;  ///< weight of this rank's first micro-batch
    double learning_rate = 0;   ///< once the step before is settled; so is the next
    std::optional<double> loss_scale;
    std::exception_ptr failure;  ///< or these
    /// Waits until the step's losses are known.
    std::function<std::vector<float>()> wait_for_losses;
    /// Waits until the step has ended, and sets `report` or `failure`.
    std::function<void()> settle;
  };
  explicit PendingStep(std::shared_ptr<Outcome> outcome) : outcome_(std::move(outcome)) {}

  /// From 1.
  [[nodiscard]] std::int64_t number() const { return outcome_->number; }
  /// The loss of this rank's micro-batches, averaged as the plan says. Waits for the forward passes
  /// alone, so it may not be finite: then the step throws when it is settled. Throws what the step
  /// has thrown.
  [[nodiscard]] double loss() const;
  /// Waits until the step has ended. Throws kOutOfMemory, kDeviceFailure, kLossNotFinite or
  /// kNotFinite (a gradient or an update): then the step is not counted, but some updates may have
  /// been applied, so the caller must continue from a checkpoint.
  void wait() const;
  /// As wait(), and returns what was measured.
  [[nodiscard]] StepReport report() const;

 private:
  std::shared_ptr<Outcome> outcome_;
};

}  // namespace elixir::runtime
