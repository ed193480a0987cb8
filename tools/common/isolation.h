// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How a tool reads a model file: the flags for the process that does it, and what the user hears of
// a kernel that cannot restrict it.

#include "model/model_file.h"
#include "tools/common/cli.h"
#include "tools/common/run_tool.h"

namespace elixir::tools {

/// --sandbox, --model-memory and --model-time.
void declare_isolation_flags(Flags& flags, model::Isolation& isolation);

/// As ModelFile::open(), with one warning where the process is not restricted.
[[nodiscard]] model::ModelFile open_model(const std::string& path,
                                          const model::Isolation& isolation,
                                          Context& context);

}  // namespace elixir::tools
