// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/common/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::tools {
namespace {

std::atomic<pid_t> running{0};

[[noreturn]] void cannot_start(const std::filesystem::path& program, int reason) {
  throw Error(ErrorCode::kIoError,
              "cannot run {}: {}",
              program.string(),
              std::generic_category().message(reason));
}

/// The null-terminated array for the system call. It points into `words`.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& variable : variables) replaced = replaced || variable.first == name;
    if (!replaced) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

std::string read_all(int from) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return text;
    }
  }
}

/// A file in memory with `text`, at its start. A pipe would need somebody who writes while we read.
int file_of(const std::filesystem::path& program, const std::string& text) {
  const int file = memfd_create("input", MFD_CLOEXEC);
  if (file < 0) cannot_start(program, errno);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) cannot_start(program, errno);
    if (written > 0) at += static_cast<std::size_t>(written);
  }
  if (lseek(file, 0, SEEK_SET) != 0) cannot_start(program, errno);
  return file;
}

}  // namespace

ProcessResult run_process(const std::filesystem::path& program,
                          const std::vector<std::string>& arguments,
                          const std::vector<std::pair<std::string, std::string>>& variables,
                          const std::string& input) {
  const int input_file = file_of(program, input);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) cannot_start(program, errno);
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = environment_with(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input_file, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failure = posix_spawn(&child,
                                  program.c_str(),
                                  &actions,
                                  nullptr,
                                  pointers_to(words).data(),
                                  pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  close(input_file);
  if (failure != 0) {
    close(ends[0]);
    cannot_start(program, failure);
  }
  running = child;
  ProcessResult result;
  result.output = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running = 0;
  constexpr int kSignalBase = 128;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
  return result;
}

void end_subprocess(int signal) noexcept {
  const pid_t child = running.load();
  if (child > 0) ::kill(child, signal);
}

std::filesystem::path helper_program(const std::string& name) {
  std::error_code ignored;
  const std::filesystem::path here =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::filesystem::path beside = here / name;
  if (std::filesystem::exists(beside, ignored)) return beside;
  return here.parent_path() / "libexec" / "elixir" / name;
}

}  // namespace elixir::tools
