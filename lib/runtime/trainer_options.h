// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The options of a trainer: device, optimizer constants, source of the first weights. Everything
// else is in the plan.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "program/choices.h"
#include "runtime/cpu_order.h"
#include "runtime/loss_scaler.h"
#include "runtime/ranks/communicator.h"
#include "runtime/task_hook.h"

namespace elixir::runtime {

using program::DeviceKind;

struct OptimizerOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;
  std::vector<std::string> no_decay;  ///< glob patterns over parameter names
  double clip_norm = 0.0;             ///< 0: off
};

/// Progress callback while parameters are filled, on the calling thread: the share of bytes done,
/// and the name of the next parameter.
using FillProgress = std::function<void(double done_fraction, const std::string& parameter)>;

struct TrainerOptions {
  DeviceKind device = DeviceKind::kCpu;
  OptimizerOptions optimizer;
  LossScaleOptions loss_scale;  ///< for a plan that scales the loss (plan::scales_loss())
  std::uint64_t seed = 0;
  int cpu_threads = 0;  ///< 0: LibTorch's default; used for operators and for AdamW alike
  /// Fill with NaN what holds nothing any more: evicted blocks, staging and landing buffers that
  /// have been read, released memory.
  bool poison_evicted = false;
  bool deterministic = false;  ///< deterministic operators only
  CpuOrder cpu_order;          ///< CPU device: when tasks run
  TaskHook before_task;        ///< may be empty; CPU device: only with lanes
  Ranks ranks;                 ///< as many as the plan's world; they must outlive the trainer
  FillProgress on_fill;        ///< may be empty
};

/// Provides the data of one parameter or buffer. It is called once per name at the start and must
/// return a dense CPU tensor of the program's geometry. An undefined tensor leaves zeros until the
/// caller sets the state (a resumed run).
using TensorSource = std::function<at::Tensor(const std::string& name)>;

}  // namespace elixir::runtime
