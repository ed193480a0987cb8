// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-capture: reads a model file for a tool, which starts it (model/reader_process.h). Not for
// people. Its arguments: the file's name, the memory and processor seconds that it may take, and
// whether it is to be restricted. Descriptors: questions 0, answers 1, complaints 2, the file 3, a
// page for where it is 4.
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "capture/service/service.h"
#include "core/deep_stack.h"
#include "core/error.h"
#include "elixir_config.h"
#include "process/frames.h"
#include "process/place.h"
#include "process/restrict.h"

namespace elixir {
namespace {

constexpr int kArchive = 3;
constexpr int kPlace = 4;
constexpr int kFailed = 1;

/// What libraries print is not for the user.
void silence() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

void work(const std::string& name, const process::Limits& limits, process::Sandbox sandbox) {
  capture::warm_up();
  const auto file = std::make_shared<const model::DataFile>(Descriptor(kArchive), name);
  silence();
  process::limit_this_process(limits);
  const std::string why_not =
      sandbox == process::Sandbox::kNone ? "not asked for" : process::restrict_this_process();
  const bool restricted = why_not.empty();
  const bool may_go_on = sandbox != process::Sandbox::kRequire || restricted;
  process::write_frame(STDOUT_FILENO,
                       static_cast<std::uint32_t>(model::Message::kReady),
                       text_of(model::Ready{.restricted = restricted, .why_not = why_not}));
  if (may_go_on) capture::serve(file, STDIN_FILENO, STDOUT_FILENO);
}

int run(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::printf("elixir-capture %s\n", ELIXIR_VERSION);
    std::fflush(stdout);
    return 0;
  }
  constexpr int kWords = 5;
  if (argc != kWords) {
    std::fputs("elixir-capture is started by elixir-profile and elixir-train\n", stderr);
    return 2;
  }
  // It ends with the tool that asks.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGXFSZ, SIG_IGN);
  process::close_descriptors_from(kPlace + 1);
  process::attach_place(kPlace);
  // One arena: each takes 64 MiB of address space, which is limited.
  ::mallopt(M_ARENA_MAX, 1);
  const process::Limits limits{.memory_bytes = std::stoull(argv[2]),
                               .processor_seconds = std::stoull(argv[3])};
  const auto sandbox = process::kSandboxNames.named(argv[4]);
  require(sandbox.has_value(), "elixir-capture: no such sandbox");
  // Parsers recurse as deep as a model's code is nested; this thread is started while it may be.
  run_on_deep_stack([&] { work(argv[1], limits, *sandbox); });
  return 0;
}

}  // namespace
}  // namespace elixir

int main(int argc, char** argv) {
  int code = elixir::kFailed;
  try {
    code = elixir::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elixir-capture: %s\n", error.what());
  }
  // LibTorch takes a quarter of a second to destroy its own.
  ::_exit(code);
}
