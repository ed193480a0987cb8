// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Finds the data that is shipped with Elixir (`profiles/`).

#include <filesystem>
#include <vector>

namespace elixir {

/// Directories to search, in order: $ELIXIR_PROFILES if set, the installation's, the source tree's.
/// They may not exist.
[[nodiscard]] std::vector<std::filesystem::path> profile_directories();

}  // namespace elixir
