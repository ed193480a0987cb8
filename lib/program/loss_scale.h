// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether training a program needs a loss scale. float16 gradients below 6e-8 become 0, so that
// training in float16 without one learns nothing, silently.

#include <optional>
#include <string>

#include "program/program.h"

namespace elixir::program {

/// Why: the first trained parameter, or operator of backward, with a float16 gradient; nullopt when
/// there is none.
[[nodiscard]] std::optional<std::string> needs_loss_scale(const Program& program);

/// kUnsupportedModel, naming bf16, when the program needs one: no tool has it yet.
void refuse_without_loss_scale(const Program& program);

}  // namespace elixir::program
