// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What of a captured program no plan can train. Its memory can be profiled all the same.

#include "program/program.h"

namespace elixir::program {

/// Throws kUnsupportedModel when the program
/// - needs a loss scale (loss_scale.h),
/// - trains parameters that are neither fp32 nor bf16 nor fp16, or has complex ones,
/// - writes a parameter or an input in place: parameters change in updates alone, and an input
/// belongs to
///   whoever gave it.
void refuse_untrainable(const Program& program);

}  // namespace elixir::program
