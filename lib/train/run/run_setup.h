// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The inputs (RunInputs) and options (RunOptions) that a training run needs before its first step.
// The caller must have read and checked the files they come from. The run itself reads only weights
// and data rows.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "plan/plan.h"
#include "program/lifetimes.h"
#include "runtime/ranks/communicator.h"
#include "runtime/step_report.h"
#include "runtime/trainer_options.h"
#include "train/data/dataset.h"
#include "train/run/learning_rate.h"

namespace elixir::train {

/// Data that is never trained on, and the program that computes its loss.
struct HeldOut {
  capture::Captured program;  ///< forward only, mode eval, with the training program's parameters
  std::unique_ptr<const Dataset> data;
};

struct RunInputs {
  plan::Plan plan;
  capture::Captured captured;
  std::string fingerprint;  ///< of captured.program
  /// Of one step, over all micro-batches of all ranks (flops_of_step()).
  double flops_per_step = 0;
  runtime::DeviceKind device = runtime::DeviceKind::kCpu;
  /// The first weights. A run that continues from a checkpoint asks only for those that the
  /// checkpoint lacks.
  runtime::TensorSource weights;
  DataFormat data_format = DataFormat::kBytes;
  std::unique_ptr<const Dataset> data;
  std::optional<HeldOut> held_out;

  /// Of all ranks.
  [[nodiscard]] std::int64_t rows_per_step() const;
  /// nullopt when rows are samples.
  [[nodiscard]] std::optional<std::int64_t> tokens_per_step() const;
};

/// Floating-point operations of the executed operators, in all `micro_batches` of a step.
[[nodiscard]] double flops_of_step(const program::Program& program,
                                   const program::Lifetimes& lifetimes,
                                   int micro_batches);

struct CheckpointPolicy {
  /// Steps between checkpoints. nullopt: one at the end. 0: none, unless the run is interrupted.
  std::optional<std::int64_t> every;
  int keep = 2;  ///< number of newest checkpoints to keep
};

struct RunOptions {
  std::int64_t steps = 100;  ///< in total, including those before a checkpoint
  LearningRate learning_rate;
  runtime::OptimizerOptions optimizer;
  runtime::LossScaleOptions loss_scale;
  std::uint64_t seed = 0;
  bool deterministic = false;
  runtime::Ranks ranks;  ///< as many as the plan's world
  /// Of this rank; 0: its part of those of the machine.
  int cpu_threads = 0;
  CheckpointPolicy checkpoints;
  std::int64_t evaluate_every = 0;  ///< steps; 0: only before the first and after the last step
  std::int64_t evaluation_batches = 16;
  /// The training program, for the `meta` of documents.
  std::string tool = "libelixir";
  std::vector<std::string> argv;
};

/// An environment variable, for tests alone: on the CPU device each stream has a thread of its own,
/// so that steps overlap there too (runtime/cpu_order.h).
inline constexpr const char* kCpuLanesVariable = "ELIXIR_CPU_LANES";

/// What every rank's trainer is made with.
[[nodiscard]] runtime::TrainerOptions trainer_options(const RunInputs& inputs,
                                                      const RunOptions& options);
/// This rank's micro-batches of a step.
[[nodiscard]] runtime::MicroBatches batch_of_step(const RunInputs& inputs,
                                                  const RunOptions& options,
                                                  std::int64_t step);

}  // namespace elixir::train
