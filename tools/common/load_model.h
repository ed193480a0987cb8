// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Opens the model that a command line names. Only tools that link capture include this.

#include <string>

#include "capture/capture.h"
#include "core/error.h"
#include "core/files.h"

namespace elixir::tools {

/// As Model::load(). Where there is no such file, the error names those beside it that are alike.
[[nodiscard]] inline capture::Model load_model(const std::string& path) {
  try {
    return capture::Model::load(path);
  } catch (Error& error) {
    if (error.info().code == ErrorCode::kFileNotFound) error.help(help_for_missing(path));
    throw;
  }
}

}  // namespace elixir::tools
