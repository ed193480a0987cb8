// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The value of --loss-scale: `dynamic`, `dynamic:initial=65536,interval=1000`, or a number.

#include <string>

#include "runtime/loss_scaler.h"

namespace elixir::tools {

/// Throws kBadFlagValue, with the part that is wrong and what would be right.
[[nodiscard]] runtime::LossScaleOptions parse_loss_scale(const std::string& text);

/// "dynamic from 65536: times 2 after 2000 good steps, …" or "fixed at 1024".
[[nodiscard]] std::string description_of(const runtime::LossScaleOptions& options);

}  // namespace elixir::tools
