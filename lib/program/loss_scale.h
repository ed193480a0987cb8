// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether a program needs a loss scale to train. In float16, gradients below 6e-8 become 0, so
// training without a loss scale silently learns nothing (Micikevicius et al., arXiv 1710.03740).

#include <optional>
#include <string>

#include "program/program.h"

namespace elixir::program {

/// The reason: the first trained parameter, or the first operator of backward, with a float16
/// gradient. nullopt when no loss scale is needed.
[[nodiscard]] std::optional<std::string> needs_loss_scale(const Program& program);

}  // namespace elixir::program
