// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "process/child.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "core/error.h"
#include "elixir_config.h"

namespace elixir::process {
namespace {

/// Fixed, because a signal handler reads it. A program that finds no place here is not signalled:
/// its pipe closes when this process ends, which ends it, too.
std::array<std::atomic<pid_t>, 16> running{};

void remember(pid_t child) {
  for (std::atomic<pid_t>& place : running) {
    pid_t none = 0;
    if (place.compare_exchange_strong(none, child)) return;
  }
}

void forget(pid_t child) {
  for (std::atomic<pid_t>& place : running) {
    pid_t expected = child;
    if (place.compare_exchange_strong(expected, 0)) return;
  }
}

/// The null-terminated array for the system call. It points into `words`.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// A tool ignores some signals, which a program would inherit.
class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t usual;
    sigemptyset(&usual);
    for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&usual, signal);
    posix_spawnattr_setsigdefault(&attributes_, &usual);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

/// Puts descriptors in their places. A place may be the number of one that is still to be moved, so
/// all are first moved above every place.
class FileActions {
 public:
  explicit FileActions(const std::vector<Passed>& descriptors) {
    posix_spawn_file_actions_init(&actions_);
    int above = STDERR_FILENO;
    for (const Passed& passed : descriptors) above = std::max({above, passed.here, passed.there});
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      posix_spawn_file_actions_adddup2(
          &actions_, descriptors[i].here, above + 1 + static_cast<int>(i));
    }
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      const int moved = above + 1 + static_cast<int>(i);
      posix_spawn_file_actions_adddup2(&actions_, moved, descriptors[i].there);
      posix_spawn_file_actions_addclose(&actions_, moved);
    }
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

Child::Child(const Command& command) {
  std::vector<std::string> words{command.program.string()};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment = command.environment;
  const Attributes attributes;
  const FileActions actions(command.descriptors);
  const int failure = posix_spawn(&pid_,
                                  command.program.c_str(),
                                  actions.get(),
                                  attributes.get(),
                                  pointers_to(words).data(),
                                  pointers_to(environment).data());
  if (failure != 0) {
    pid_ = 0;
    throw Error(ErrorCode::kIoError,
                "cannot run {}: {}",
                command.program.string(),
                std::generic_category().message(failure));
  }
  remember(pid_);
}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

Child::~Child() {
  if (pid_ == 0) return;
  kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  forget(pid_);
}

std::optional<Ending> Child::wait(std::optional<std::chrono::steady_clock::time_point> deadline) {
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(pid_, &status, deadline ? WNOHANG : 0);
    if (ended == pid_ || (ended < 0 && errno != EINTR)) break;
    if (ended < 0) continue;
    if (std::chrono::steady_clock::now() >= *deadline) return std::nullopt;
    constexpr auto kPause = std::chrono::milliseconds(5);
    std::this_thread::sleep_for(kPause);
  }
  forget(std::exchange(pid_, 0));
  constexpr int kSignalBase = 128;
  Ending ending;
  if (!WIFEXITED(status)) ending.signal = WTERMSIG(status);
  ending.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + ending.signal;
  return ending;
}

void Child::kill() const {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void signal_children(int signal) noexcept {
  for (const std::atomic<pid_t>& place : running) {
    const pid_t child = place.load();
    if (child > 0) ::kill(child, signal);
  }
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(variables.begin(),
                                      variables.end(),
                                      [&](const auto& variable) { return variable.first == name; });
    if (!replaced) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

std::filesystem::path helper_program(const std::string& name) {
  if (const char* folder = std::getenv("ELIXIR_LIBEXEC")) {
    return std::filesystem::path(folder) / name;
  }
  std::error_code ignored;
  const std::filesystem::path here =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const std::filesystem::path& folder : {here, here.parent_path() / "libexec" / "elixir"}) {
    if (std::filesystem::exists(folder / name, ignored)) return folder / name;
  }
  return std::filesystem::path(ELIXIR_LIBEXEC_INSTALLED) / name;
}

}  // namespace elixir::process
