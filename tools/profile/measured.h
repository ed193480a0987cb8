// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// `--measure`: the step run on this machine's GPU, each way in a process of its own, beside what
// was predicted of it.

#include <string>
#include <vector>

#include "core/json.h"
#include "tools/profile/options.h"

namespace elixir::tools {

/// What elixir-measure-step found, by "autograd" and "replay". Its errors are thrown as they are.
[[nodiscard]] Json measure_steps(const ProfileOptions& options);

/// The table of predicted and measured peaks and where the requests part.
[[nodiscard]] std::string measured_text(const Json& measured);

}  // namespace elixir::tools
