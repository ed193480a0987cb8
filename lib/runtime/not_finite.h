// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Says which gradient or update of a failed step is not finite. That a step failed is known from
// the passes that read the data anyway (optimizer_pass.h); the passes here come after that.

#include <cstdint>

#include "core/error.h"
#include "program/program.h"
#include "runtime/optimizer_pass.h"
#include "runtime/parameter_layout.h"
#include "runtime/parameter_store.h"

namespace elixir::runtime {

/// kNotFinite for step `step`, of which `optimizer` has met something that is not finite. Names the
/// first parameter, in program order, whose gradient is not finite; else whose gradient's squares
/// overflow the norm; else whose update is not finite. On an idle device, before the next step.
[[nodiscard]] Error not_finite_error(std::int64_t step,
                                     const program::Program& program,
                                     const std::vector<ParameterLayout>& layouts,
                                     const ParameterStore& parameters,
                                     const OptimizerPass& optimizer);

}  // namespace elixir::runtime
