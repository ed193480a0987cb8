// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Runs another program of this project, which reads one text and prints one, and waits for its end.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elixir::process {

struct ProcessResult {
  int exit_code = 0;          ///< 128 + signal if a signal ended it
  int signal = 0;             ///< that ended it; 0: none
  bool was_too_slow = false;  ///< it had not ended at its time limit, and was killed
  std::string output;
};

/// Runs `program` (a path) and returns its stdout. It reads `input` from its stdin. Its stderr is
/// discarded, because helpers report errors as JSON. `variables` are added to the environment. With
/// a `limit`, it is killed when it has not ended after that time. Throws kIoError when it cannot be
/// started.
[[nodiscard]] ProcessResult run_process(
    const std::filesystem::path& program,
    const std::vector<std::string>& arguments,
    const std::vector<std::pair<std::string, std::string>>& variables,
    const std::string& input = "",
    std::optional<std::chrono::milliseconds> limit = std::nullopt);

}  // namespace elixir::process
