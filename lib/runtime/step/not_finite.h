// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Finds which gradient or update of a failed step is not finite. The optimizer's passes notice that
// a step failed, because they read the data anyway (optimizer_pass.h). The passes here run only
// after that.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/error.h"
#include "program/program.h"
#include "runtime/device/device.h"
#include "runtime/state/parameter_layout.h"
#include "runtime/state/parameter_store.h"
#include "runtime/step/optimizer_pass.h"

namespace elixir::runtime {

[[nodiscard]] std::int64_t not_finite_elements(const at::Tensor& values);

/// A step in which `optimizer` met a value that is not finite.
struct FailedStep {
  std::int64_t number;
  const program::Program& program;
  const std::vector<ParameterLayout>& layouts;
  const ParameterStore& parameters;
  const OptimizerPass& optimizer;
  Device& device;
  /// By chunk: nothing else has used the memory of its gradients since its update (schedule.h,
  /// Buffer::shares).
  std::vector<bool> gradients_kept;
};

/// The kNotFinite error for it. Names the first parameter, in program order, whose gradient is not
/// finite; otherwise, whose squared gradients overflow the norm; otherwise, whose update is not
/// finite. Where gradients are gone, their sums of squares tell. Call it on an idle device, before
/// the next step.
[[nodiscard]] Error not_finite_error(const FailedStep& step);

}  // namespace elixir::runtime
