// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The program that runs under a plan: the captured one with the plan's edits. Search and trainer
// both come here, so that they plan, check and run the same operators.

#include <string>
#include <vector>

#include "plan/plan.h"
#include "program/program.h"

namespace elixir::schedule {

/// `program` with `edits`, one after the other. Throws kInconsistentPlan when an edit names a
/// storage or an operator that it cannot be made for, or fuses what is not there.
[[nodiscard]] program::Program apply_edits(program::Program program,
                                           const std::vector<plan::Edit>& edits);

/// The same with the edits of `plan`. Throws kInconsistentPlan too when the result is not the
/// program that the plan was made for.
[[nodiscard]] program::Program edited_program(program::Program program, const plan::Plan& plan);

/// What an arithmetic makes of a captured program.
struct FusedArithmetic {
  program::Program program;
  std::vector<plan::Edit> edits;  ///< that make `program`; empty: it is the captured one
  /// Why cross entropies stayed as captured, one sentence each (edit/loss/fused_loss.h).
  std::vector<std::string> losses_kept;
};
/// `arithmetic`: kFused or kFusedElementwise.
[[nodiscard]] FusedArithmetic with_fused_arithmetic(
    const program::Program& captured, plan::Arithmetic arithmetic = plan::Arithmetic::kFused);

}  // namespace elixir::schedule
