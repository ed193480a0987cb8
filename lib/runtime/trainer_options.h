// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a trainer is told: the device, the optimizer's constants, where the first weights come from.
// All else is the plan's.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "program/choices.h"

namespace elixir::runtime {

using program::DeviceKind;

struct OptimizerOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;
  std::vector<std::string> no_decay;  ///< glob patterns over parameter names
  double clip_norm = 0.0;             ///< 0: off
};

/// Told while parameters are filled, on the calling thread: the share of bytes done, and the name of
/// the parameter that comes next.
using FillProgress = std::function<void(double done_fraction, const std::string& parameter)>;

struct TrainerOptions {
  DeviceKind device = DeviceKind::kCpu;
  OptimizerOptions optimizer;
  std::uint64_t seed = 0;
  int cpu_threads = 0;           ///< 0: LibTorch's default; used for operators and for AdamW alike
  bool poison_evicted = false;   ///< fill evicted blocks and released memory with NaN
  bool deterministic = false;    ///< deterministic operators only
  bool keep_task_times = false;  ///< fill StepReport::tasks
  FillProgress on_fill;          ///< may be empty
};

/// Data of one parameter or buffer, asked for by name once at start: a dense CPU tensor of the
/// program's geometry. Undefined: it stays zero until the caller sets it (a resumed run).
using TensorSource = std::function<at::Tensor(const std::string& name)>;

}  // namespace elixir::runtime
