// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The input and output of one step: a batch and a report. Every figure of a report is measured, by
// clocks and allocators; none is copied from the schedule.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "plan/plan.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"

namespace elixir::runtime {

/// One batch: CPU tensors in Program::inputs order, one vector per micro-batch.
using MicroBatches = std::vector<std::vector<at::Tensor>>;

struct StepOptions {
  /// Time every task. On a GPU this costs some microseconds a task.
  bool time_tasks = false;
  /// By micro-batch of this rank: what its loss is a mean over, as nll_loss divides. Empty:
  /// micro-batches count alike. Given on all ranks or on none; where a step has several
  /// micro-batches, only for a plan that averages over labels (plan::Average).
  std::vector<double> labels;
  /// The learning rate if the step before turns out to be skipped. nullopt: the same.
  std::optional<double> rate_after_skip;
};

struct MemoryUse {
  std::int64_t peak_device_bytes = 0;  ///< measured by the device's allocator, 512-byte rounding
  std::int64_t host_bytes = 0;         ///< host arena
  /// Memory of the GPU that all processes use, after the first step, the second, the fourth, the
  /// eighth …
  std::optional<std::int64_t> used_gpu_bytes;
};

struct StepReport {
  double loss = 0;                  ///< of all ranks, averaged as the plan says
  std::vector<float> micro_losses;  ///< as computed, one per micro-batch, rank after rank
  /// With clipping or a loss scale, unless the step was skipped. Of the unscaled gradients.
  std::optional<double> gradient_norm;
  double learning_rate = 0;
  std::optional<double> loss_scale;  ///< of this step
  /// Scaled gradients were not finite: nothing was updated.
  bool skipped = false;
  double step_ns = 0;  ///< wall clock; this and what follows: of this rank
  /// By stream. Only if the step's tasks were timed (StepOptions).
  std::optional<std::array<double, schedule::kStreamCount>> busy_ns;
  MemoryUse memory;
  plan::Traffic traffic;                  ///< counted where bytes move
  std::vector<schedule::TaskTime> tasks;  ///< by id; empty unless the step's tasks were timed
};

}  // namespace elixir::runtime
