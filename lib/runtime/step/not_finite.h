// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Finds which gradient or update of a failed step is not finite. The optimizer's passes notice that
// a step failed, because they read the data anyway (optimizer_pass.h). The passes here run only
// after that.

#include <cstdint>

#include "core/error.h"
#include "program/program.h"
#include "runtime/state/parameter_layout.h"
#include "runtime/state/parameter_store.h"
#include "runtime/step/optimizer_pass.h"

namespace elixir::runtime {

/// The kNotFinite error for step `step`, in which `optimizer` met a value that is not finite. Names
/// the first parameter, in program order, whose gradient is not finite; otherwise, whose squared
/// gradients overflow the norm; otherwise, whose update is not finite. Gradients count where
/// `gradients_are_kept` after their update (schedule/buffers/shared_gradients.h). Call it on an idle
/// device, before the next step.
[[nodiscard]] Error not_finite_error(std::int64_t step,
                                     const program::Program& program,
                                     const std::vector<ParameterLayout>& layouts,
                                     const ParameterStore& parameters,
                                     const OptimizerPass& optimizer,
                                     bool gradients_are_kept);

}  // namespace elixir::runtime
