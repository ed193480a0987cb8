// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where a run's files are: the directory that a new run will make, or that of a run to go on with.
// Nothing is written here.

#include <optional>
#include <string>

#include "core/files.h"
#include "tools/common/run_tool.h"
#include "tools/train/options.h"
#include "train/run/run_directory.h"

namespace elixir::tools {

struct RunPlace {
  std::string path;
  std::string run_id;  ///< empty until the run has one
  /// Of a resumed run, locked. That of a new run is made once its weights are there, and in a dry
  /// run never.
  std::optional<train::RunDirectory> directory;
};

/// Completes `options` by those that a resumed run remembers, and checks that they go together and
/// that every output can be written.
[[nodiscard]] RunPlace find_place(TrainOptions& options, Context& context);

/// Refuses outputs that exist and are not to be replaced, or that cannot be written.
void check_outputs(const TrainOptions& options, const RunPlace& place, Context& context);

/// A resumed run may have written its export already.
[[nodiscard]] Overwrite overwrite_of_export(const TrainOptions& options, const Context& context);

}  // namespace elixir::tools
