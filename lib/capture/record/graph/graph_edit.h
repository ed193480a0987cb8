// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: what is changed in a module's code before it runs.
//
// Edits of a module's graphs before its first run (executors copy them at the first run).

#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>

namespace elixir::capture {

/// Replaces the devices that tracing wrote into graphs as constants by `device`.
void set_devices(const torch::jit::Module& module, c10::Device device);

/// Throws kUnsupportedModel for a region of torch.autocast that would act on `device`: capture runs
/// its calls as they are written. A region that is switched off, or of another device, does nothing
/// in PyTorch either.
void refuse_autocast(const torch::jit::Module& module, c10::Device device);

enum class TrainingMode { kTrain, kEval };
/// Sets the training flag, and the flags that tracing wrote into dropout, batch norm and attention
/// calls. Returns what cannot be restored (attention dropout of a model traced for evaluation).
std::vector<std::string> set_training_mode(torch::jit::Module& module, TrainingMode mode);

/// Calls of dropout and norms whose training flag tracing fixed.
struct FixedCalls {
  int all = 0;
  int evaluating = 0;
};
[[nodiscard]] FixedCalls calls_with_fixed_mode(const torch::jit::Module& module);

}  // namespace elixir::capture
