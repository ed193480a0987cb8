// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/ranks/processes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/ranks/device_communicator.h"
#include "tools/train/ranks/variables.h"

namespace elixir::tools {
namespace {

/// "RANK:SOCKET,SOCKET,…:SOCKET,…:SOCKET,…": by rank, for steps, control and signs of life; -1 for
/// its own.
constexpr const char* kVariable = "ELIXIR_RANK";
constexpr const char* kVisibleGpus = "CUDA_VISIBLE_DEVICES";
constexpr int kNotStarted = 127;

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorCode::kIoError, "{}: {}", what, std::strerror(errno));
}

/// A socket between each two ranks: [rank][other]. They are closed by exec, except those that a
/// rank inherits.
std::vector<std::vector<int>> connected(int world) {
  const auto n = static_cast<std::size_t>(world);
  std::vector<std::vector<int>> sockets(n, std::vector<int>(n, -1));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      std::array<int, 2> pair{};
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
        fail("connecting ranks");
      }
      sockets[a][b] = pair[0];
      sockets[b][a] = pair[1];
    }
  }
  return sockets;
}

void close_others(const std::vector<std::vector<int>>& sockets) {
  for (std::size_t rank = 1; rank < sockets.size(); ++rank) {
    for (const int socket : sockets[rank]) {
      if (socket >= 0) ::close(socket);
    }
  }
}

std::vector<int> numbers(std::string_view text) {
  std::vector<int> values;
  while (!text.empty()) {
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) break;
    values.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  }
  return values;
}

/// The words of this process's command line.
std::vector<std::string> own_command_line() {
  const int file = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("/proc/self/cmdline");
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t n = 0; (n = ::read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  ::close(file);
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// What `rank` has to see as its only GPU.
std::string visible_to(int rank, int world) {
  const char* visible = std::getenv(kVisibleGpus);
  if (std::getenv(runtime::kShareGpusVariable) != nullptr) return visible ? visible : "0";
  return gpu_of_rank(visible, rank, world);
}

/// That of this process, except `variables` ("NAME=VALUE").
std::vector<std::string> environment_with(std::vector<std::string> variables) {
  const auto same_name = [](std::string_view a, std::string_view b) {
    return a.substr(0, a.find('=')) == b.substr(0, b.find('='));
  };
  const auto given = static_cast<std::ptrdiff_t>(variables.size());
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool replaced =
        std::any_of(variables.begin(), variables.begin() + given, [&](const std::string& own) {
          return same_name(own, *variable);
        });
    if (!replaced) variables.emplace_back(*variable);
  }
  return variables;
}

/// Between fork and exec: nothing that may allocate or lock.
[[noreturn]] void become(const char* const* arguments,
                         const char* const* environment,
                         const std::vector<int>& inherited,
                         int said,
                         pid_t parent) {
  // Whoever ends rank 0, however, ends this one; Ctrl-C is for rank 0, which ends the run in order.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNotStarted);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(said, STDERR_FILENO);
  for (const int socket : inherited) ::fcntl(socket, F_SETFD, 0);
  ::execve(
      "/proc/self/exe", const_cast<char* const*>(arguments), const_cast<char* const*>(environment));
  ::_exit(kNotStarted);
}

std::vector<const char*> pointers(const std::vector<std::string>& words) {
  std::vector<const char*> all;
  all.reserve(words.size() + 1);
  for (const std::string& word : words) all.push_back(word.c_str());
  all.push_back(nullptr);
  return all;
}

/// What it has printed.
std::string text_of(int file) {
  std::string text;
  std::array<char, 4096> part{};
  ::lseek(file, 0, SEEK_SET);
  for (ssize_t n = 0; (n = ::read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

std::optional<runtime::RankWays> ways_of_follower() {
  const char* value = std::getenv(kVariable);
  if (value == nullptr) return std::nullopt;
  std::vector<std::vector<int>> parts;
  std::istringstream text{std::string(value)};
  for (std::string part; std::getline(text, part, ':');) parts.push_back(numbers(part));
  if (parts.size() != 4 || parts[0].size() != 1 || parts[1].size() != parts[2].size() ||
      parts[1].size() != parts[3].size() || parts[0][0] < 1 ||
      parts[0][0] >= static_cast<int>(parts[1].size())) {
    throw Error(ErrorCode::kBadFlagValue, "{} is set, but not by elixir-train", kVariable)
        .help("unset {}", kVariable);
  }
  return std::optional<runtime::RankWays>(std::in_place, parts[0][0], parts[1], parts[2], parts[3]);
}

RankProcesses::RankProcesses(int world, runtime::DeviceKind device) {
  const std::array<Sockets, 3> meshes{connected(world), connected(world), connected(world)};
  for (int rank = 1; rank < world; ++rank) {
    std::vector<std::string> variables;
    if (device == runtime::DeviceKind::kCuda) {
      variables.push_back(fmt::format("{}={}", kVisibleGpus, visible_to(rank, world)));
    }
    start(rank, meshes, std::move(variables));
  }
  for (const Sockets& mesh : meshes) close_others(mesh);
  ways_.emplace(0, meshes[0].front(), meshes[1].front(), meshes[2].front());
}

void RankProcesses::start(int rank,
                          const std::array<Sockets, 3>& meshes,
                          std::vector<std::string> variables) {
  Process process;
  process.said = ::memfd_create("elixir-rank", MFD_CLOEXEC);
  if (process.said < 0) fail("starting a rank");
  std::string sockets = fmt::format("{}={}", kVariable, rank);
  std::vector<int> inherited;
  for (const Sockets& mesh : meshes) {
    const std::vector<int>& own = mesh[static_cast<std::size_t>(rank)];
    sockets += fmt::format(":{}", fmt::join(own, ","));
    for (const int socket : own) {
      if (socket >= 0) inherited.push_back(socket);
    }
  }
  variables.push_back(std::move(sockets));
  const std::vector<std::string> environment = environment_with(std::move(variables));
  const std::vector<std::string> command = own_command_line();
  const std::vector<const char*> arguments = pointers(command);
  const std::vector<const char*> environment_pointers = pointers(environment);
  const pid_t parent = ::getpid();
  process.id = ::fork();
  if (process.id == 0) {
    become(arguments.data(), environment_pointers.data(), inherited, process.said, parent);
  }
  if (process.id < 0) fail("starting a rank");
  processes_.push_back(process);
}

void RankProcesses::await(int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (Process& process : processes_) {
    while (!process.status) {
      int status = 0;
      const pid_t ended = ::waitpid(process.id, &status, WNOHANG);
      if (ended == process.id) process.status = status;
      if (ended < 0 && errno != EINTR) process.status = 0;
      if (process.status || std::chrono::steady_clock::now() > deadline) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

void RankProcesses::explain(Error& error) {
  constexpr int kSeconds = 2;  // they notice that a rank is gone at once
  await(kSeconds);
  lost_one_ = true;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process& process = processes_[i];
    const std::size_t rank = i + 1;
    if (!process.status) {
      error.note(fmt::format("rank {} still runs, and is ended", rank));
    } else if (WIFSIGNALED(*process.status)) {
      error.note(fmt::format("rank {} was ended by signal {}", rank, WTERMSIG(*process.status)));
    } else {
      std::istringstream said(text_of(process.said));
      for (std::string line; std::getline(said, line);) {
        const bool own = line.starts_with("error[") && !line.starts_with("error[EX0707]");
        if (own) error.note(fmt::format("rank {} said: {}", rank, line));
      }
    }
  }
}

RankProcesses::~RankProcesses() {
  ways_.reset();  // whoever waits for this rank sees that it is gone
  constexpr int kSeconds = 10;
  await(lost_one_ ? 0 : kSeconds);
  for (Process& process : processes_) {
    if (!process.status) {
      ::kill(process.id, SIGKILL);
      ::waitpid(process.id, nullptr, 0);
    }
    ::close(process.said);
  }
}

}  // namespace elixir::tools
