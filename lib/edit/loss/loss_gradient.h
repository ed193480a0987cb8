// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The edit that makes the gradient of the loss an input in place of a 1, so that the trainer can
// give it: what a micro-batch's labels count for (token_mean.h), times the loss scale.

#include <optional>

#include "program/program.h"

namespace elixir::edit {

/// The name of the input that the edit adds, which comes last.
inline constexpr const char* kLossGradient = "loss_gradient";

/// `program` with the gradient of its loss as an input; nullopt where backward does not begin with
/// it alone.
[[nodiscard]] std::optional<program::Program> take_loss_gradient(program::Program program);

}  // namespace elixir::edit
