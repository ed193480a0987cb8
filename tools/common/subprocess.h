// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Runs another program of this project and waits for its end.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace elixir::tools {

struct ProcessResult {
  int exit_code = 0;  ///< 128 + signal if a signal ended it
  std::string output;
};

/// Runs `program` (a path) and returns its stdout. It reads `input` from its stdin. Its stderr is
/// discarded, because helpers report errors as JSON. `variables` are added to the environment. Throws
/// kIoError when it cannot be started.
[[nodiscard]] ProcessResult run_process(
    const std::filesystem::path& program,
    const std::vector<std::string>& arguments,
    const std::vector<std::pair<std::string, std::string>>& variables,
    const std::string& input = "");

/// Sends `signal` to the program for which run_process() waits, if any. Async-signal-safe.
void end_subprocess(int signal) noexcept;

/// The path of a helper program: beside this program in a build, in libexec/elixir of an
/// installation. It may not exist.
[[nodiscard]] std::filesystem::path helper_program(const std::string& name);

}  // namespace elixir::tools
