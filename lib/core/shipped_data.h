// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where the data that comes with Elixir (`profiles/`) may be.

#include <filesystem>
#include <vector>

namespace elixir {

/// $ELIXIR_PROFILES if set, then the installation's, then the source tree's. They need not exist.
[[nodiscard]] std::vector<std::filesystem::path> profile_directories();

}  // namespace elixir
