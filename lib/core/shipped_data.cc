// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/shipped_data.h"

#include <cstdlib>

#include "elixir_config.h"

namespace elixir {

std::vector<std::filesystem::path> profile_directories() {
  std::vector<std::filesystem::path> directories;
  const char* chosen = std::getenv("ELIXIR_PROFILES");
  if (chosen != nullptr && *chosen != '\0') directories.emplace_back(chosen);
  directories.emplace_back(ELIXIR_PROFILES_INSTALLED);
  directories.emplace_back(ELIXIR_PROFILES_SOURCE);
  return directories;
}

}  // namespace elixir
