// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Finds the directory of a run: the one that a new run will create, or the one of a resumed run.
// Writes nothing.

#include <optional>
#include <string>

#include "tools/common/run_tool.h"
#include "tools/train/options.h"
#include "train/run/run_config.h"
#include "train/run/run_directory.h"

namespace elixir::tools {

struct RunPlace {
  std::string path;
  std::string run_id;                      ///< empty until the run has one
  std::optional<train::RunConfig> config;  ///< of a resumed run
  /// The directory of a resumed run, locked. For a new run it is created after its weights are
  /// loaded; in a dry run, never.
  std::optional<train::RunDirectory> directory;
};

/// Completes `options` with those of a resumed run. Checks that they are consistent and that every
/// output can be written.
[[nodiscard]] RunPlace find_place(TrainOptions& options, Context& context);

/// Refuses outputs that exist and may not be replaced, or that cannot be written.
void check_outputs(const TrainOptions& options, const RunPlace& place, Context& context);

}  // namespace elixir::tools
