// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// lib/process: other programs of this project, each in a process of its own: starting them, talking
// to them, and what a process may do that reads a stranger's file.
// Here: one started program. It ends with its Child: whoever drops a Child kills the program.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elixir::process {

/// A descriptor of this process, and its number in the program. All others are closed there, if
/// they have O_CLOEXEC.
struct Passed {
  int here = -1;
  int there = -1;
};

struct Command {
  std::filesystem::path program;
  std::vector<std::string> arguments;    ///< without the program's name
  std::vector<std::string> environment;  ///< all of it, as NAME=value
  std::vector<Passed> descriptors;
};

/// How a program ended.
struct Ending {
  int exit_code = 0;  ///< 128 + signal if a signal ended it
  int signal = 0;     ///< that ended it; 0: none
};

class Child {
 public:
  /// Throws kIoError when the program cannot be started.
  explicit Child(const Command& command);
  ~Child();
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Waits for the end; nullopt when it has not come by the deadline. Call it no more afterwards.
  [[nodiscard]] std::optional<Ending> wait(
      std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt);
  /// Sends SIGKILL. Call wait() then.
  void kill() const;

 private:
  pid_t pid_ = 0;
};

/// Sends `signal` to every program that a Child of this process has started. Async-signal-safe.
void signal_children(int signal) noexcept;

/// The variables of this process's environment, as NAME=value, with some added or replaced.
[[nodiscard]] std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables);

/// The path of a helper program: in the folder that ELIXIR_LIBEXEC names, beside this program, as
/// in a build, or in libexec/elixir of the installation. It may not exist.
[[nodiscard]] std::filesystem::path helper_program(const std::string& name);

}  // namespace elixir::process
