// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "process/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "core/descriptor.h"
#include "core/error.h"
#include "process/child.h"

namespace elixir::process {
namespace {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;  // nullopt: never

[[noreturn]] void cannot_start(const std::filesystem::path& program, int reason) {
  throw Error(ErrorCode::kIoError,
              "cannot run {}: {}",
              program.string(),
              std::generic_category().message(reason));
}

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

/// A file in memory with `text`, at its start. A pipe would need somebody who writes while we read.
Descriptor file_of(const std::filesystem::path& program, const std::string& text) {
  Descriptor file(memfd_create("input", MFD_CLOEXEC));
  if (file.get() < 0) cannot_start(program, errno);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(file.get(), text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) cannot_start(program, errno);
    if (written > 0) at += static_cast<std::size_t>(written);
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) cannot_start(program, errno);
  return file;
}

}  // namespace

ProcessResult run_process(const std::filesystem::path& program,
                          const std::vector<std::string>& arguments,
                          const std::vector<std::pair<std::string, std::string>>& variables,
                          const std::string& input,
                          std::optional<std::chrono::milliseconds> limit) {
  const Descriptor input_file = file_of(program, input);
  const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) cannot_start(program, errno);
  const Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  Child child({.program = program,
               .arguments = arguments,
               .environment = environment_with(variables),
               .descriptors = {{input_file.get(), STDIN_FILENO},
                               {theirs.get(), STDOUT_FILENO},
                               {nowhere.get(), STDERR_FILENO}}});
  theirs.close();
  Deadline deadline;
  if (limit) deadline = Clock::now() + *limit;
  ProcessResult result;
  result.output = read_all(ours.get(), deadline);
  std::optional<Ending> ending = child.wait(deadline);
  if (!ending) {
    result.was_too_slow = true;
    child.kill();
    ending = child.wait();
  }
  result.exit_code = ending->exit_code;
  result.signal = ending->signal;
  return result;
}

}  // namespace elixir::process
