// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/common/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

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

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;  // nullopt: never

bool is_over(const Deadline& deadline) {
  return deadline && Clock::now() >= *deadline;
}

/// Waits for something to read, or the end. False at the deadline.
bool wait_for_output(int from, const Deadline& deadline) {
  for (;;) {
    int left_ms = -1;
    if (deadline) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      constexpr std::int64_t kLongestPoll_ms = 60'000;
      left_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongestPoll_ms));
    }
    pollfd wanted{.fd = from, .events = POLLIN, .revents = 0};
    if (poll(&wanted, 1, left_ms) > 0) return true;
    if (is_over(deadline)) return false;
  }
}

/// All that comes before the deadline.
std::string read_all(int from, const Deadline& deadline) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (wait_for_output(from, deadline)) {
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return text;
    }
    if (is_over(deadline)) return text;
  }
  return text;
}

/// Waits for the child's end, and kills it at the deadline. Whether that was needed.
bool wait_or_kill(pid_t child, const Deadline& deadline, int& status) {
  bool killed = false;
  for (;;) {
    const pid_t ended = waitpid(child, &status, deadline && !killed ? WNOHANG : 0);
    if (ended == child || (ended < 0 && errno != EINTR)) return killed;
    if (ended < 0) continue;
    if (is_over(deadline)) {
      ::kill(child, SIGKILL);
      killed = true;
    } else {
      constexpr auto kPause = std::chrono::milliseconds(5);
      std::this_thread::sleep_for(kPause);
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
                          const std::string& input,
                          std::optional<std::chrono::milliseconds> limit) {
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
  Deadline deadline;
  if (limit) deadline = Clock::now() + *limit;
  ProcessResult result;
  result.output = read_all(ends[0], deadline);
  close(ends[0]);
  int status = 0;
  result.was_too_slow = wait_or_kill(child, deadline, status);
  running = 0;
  constexpr int kSignalBase = 128;
  if (!WIFEXITED(status)) result.signal = WTERMSIG(status);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + result.signal;
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
