// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// A rank without a training, for test_strangers.py: meets the others as elixir-train does, by the
// variables of torchrun or SLURM, and exchanges with them for as many seconds as its argument says.
// Without LibTorch.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "runtime/ranks/communicator_messages.h"
#include "runtime/ranks/rendezvous.h"
#include "tools/train/ranks/job_secret.h"
#include "tools/train/ranks/variables.h"

namespace {

using namespace elixir;

constexpr std::size_t kElements = 100'000;

void exchange(const runtime::RankWays& ways, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  runtime::Communicator& control = *ways.ranks().control;
  const auto world = static_cast<std::size_t>(control.world());
  std::vector<int> own(kElements, control.rank()), all(kElements * world);
  for (bool goes_on = true; goes_on;) {
    ways.ranks().steps->all_gather(all.data(), own.data(), kElements * sizeof(int));
    require(all.back() == control.world() - 1, "another rank's data is wrong");
    const std::chrono::duration<double> since = Clock::now() - began;
    const std::string said = runtime::broadcast_message(
        control, 0, runtime::MessageType::kCommand, since.count() < seconds ? "on" : "end");
    goes_on = said == "on";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

int meet_and_exchange(double seconds) {
  const tools::Variables variables = [](const std::string& name) {
    return std::getenv(name.c_str());
  };
  auto started = tools::started_rank(variables);
  require(started.has_value(), "no variable says which rank this is");
  started->secret = tools::job_secret(variables, started->on_one_machine());
  const char* patience = std::getenv("ELIXIR_CONNECT_SECONDS");
  const std::chrono::seconds wait(patience == nullptr ? 25 : std::atoi(patience));
  const auto began = std::chrono::steady_clock::now();
  const runtime::RankWays ways = runtime::meet(*started, "Elixir", wait);
  const std::chrono::duration<double> met = std::chrono::steady_clock::now() - began;
  std::printf("met after %.3f s\n", met.count());
  std::fflush(stdout);
  exchange(ways, seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return meet_and_exchange(argc > 1 ? std::atof(argv[1]) : 0.5);
  } catch (const Error& error) {
    std::fprintf(stderr,
                 "error[%s]: %s\n",
                 code_text(error.info().code).c_str(),
                 error.info().message.c_str());
    for (const auto& note : error.info().notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    for (const auto& help : error.info().help) std::fprintf(stderr, "help: %s\n", help.c_str());
    return exit_code_of(error.info().code);
  }
}
