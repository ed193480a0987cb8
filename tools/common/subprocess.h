// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Another program of this project run to its end.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace elixir::tools {

struct ProcessResult {
  int exit_code = 0;  ///< 128 + signal when a signal ended it
  std::string output;
};

/// Runs `program` (a path) and collects what it writes to stdout; stdin is ours, what it says on
/// stderr is dropped: helpers tell their errors as JSON.
/// `variables` are added to the environment. kIoError when it cannot be started.
[[nodiscard]] ProcessResult run_process(
    const std::filesystem::path& program,
    const std::vector<std::string>& arguments,
    const std::vector<std::pair<std::string, std::string>>& variables);

/// Sends `signal` to the program that run_process() waits for, if any. Async-signal-safe.
void end_subprocess(int signal) noexcept;

/// A program that belongs to this one: beside it in a build, in libexec/elixir of an installation.
/// The path need not exist.
[[nodiscard]] std::filesystem::path helper_program(const std::string& name);

}  // namespace elixir::tools
