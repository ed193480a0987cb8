// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/reference_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace elixir::runtime {
namespace {

class ReferenceProcess {
 public:
  ReferenceProcess() {
    int requests[2], answers[2];
    if (::pipe2(requests, O_CLOEXEC) != 0 || ::pipe2(answers, O_CLOEXEC) != 0) {
      throw std::runtime_error("no pipe for the reference trainer");
    }
    const char* named = std::getenv("ELIXIR_REFERENCE_TRAINER");
    if (!named) throw std::runtime_error("no ELIXIR_REFERENCE_TRAINER: run through meson test");
    std::string path = named;
    char* const arguments[] = {path.data(), nullptr};
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, requests[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, answers[1], STDOUT_FILENO);
    const int failed = ::posix_spawn(&process_, path.c_str(), &files, nullptr, arguments, environ);
    ::posix_spawn_file_actions_destroy(&files);
    if (failed != 0) throw std::runtime_error("cannot start " + path);
    ::close(requests[0]);
    ::close(answers[1]);
    requests_ = ::fdopen(requests[1], "w");
    answers_ = ::fdopen(answers[0], "r");
  }
  ReferenceProcess(const ReferenceProcess&) = delete;
  ReferenceProcess& operator=(const ReferenceProcess&) = delete;
  ~ReferenceProcess() {
    std::fclose(requests_);
    std::fclose(answers_);
    ::waitpid(process_, nullptr, 0);
  }

  std::vector<std::string> run(const std::string& line) {
    std::fprintf(requests_, "%s\n", line.c_str());
    std::fflush(requests_);
    std::vector<std::string> printed;
    char buffer[64];
    while (std::fgets(buffer, sizeof buffer, answers_) != nullptr) {
      std::string answer(buffer);
      answer.pop_back();
      if (answer == "exit 0") return printed;
      if (answer.starts_with("exit ")) break;
      printed.push_back(answer);
    }
    throw std::runtime_error("the reference trainer failed: " + line);
  }

 private:
  pid_t process_ = -1;
  std::FILE* requests_ = nullptr;
  std::FILE* answers_ = nullptr;
};

}  // namespace

std::vector<std::string> run_reference_trainer(const std::vector<std::string>& arguments) {
  static ReferenceProcess process;
  return process.run(fmt::format("{}", fmt::join(arguments, "\t")));
}

}  // namespace elixir::runtime
