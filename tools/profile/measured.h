// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// `--measure`: runs the step on this machine's GPU, each variant in its own process, and compares
// it with the prediction.

#include <string>
#include <vector>

#include "core/json.h"
#include "tools/profile/options.h"

namespace elixir::tools {

/// The results of elixir-measure-step, by "autograd" and "replay". Its errors are thrown unchanged.
[[nodiscard]] Json measure_steps(const ProfileOptions& options);

/// The table of predicted and measured peaks, and the first request that differs.
[[nodiscard]] std::string measured_text(const Json& measured);

}  // namespace elixir::tools
