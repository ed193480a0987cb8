// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/ranks/started.h"

#include <fcntl.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/log.h"
#include "elixir_config.h"
#include "runtime/ranks/device_communicator.h"
#include "tools/train/place.h"
#include "tools/train/ranks/identity.h"
#include "tools/train/ranks/variables.h"
#include "tools/train/run_options.h"
#include "train/run/ranks/follower.h"
#include "train/run/ranks/last_tasks.h"

namespace elixir::tools {
namespace {

std::chrono::seconds patience() {
  constexpr long kSeconds = 25, kMost = 3600;
  const char* text = std::getenv(kConnectSecondsVariable);
  const long seconds = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return std::chrono::seconds(seconds > 0 ? std::min(seconds, kMost) : kSeconds);
}

void choose_gpu(const runtime::StartedRank& started) {
  constexpr const char* kVisibleGpus = "CUDA_VISIBLE_DEVICES";
  if (std::getenv(runtime::kShareGpusVariable) != nullptr) return;
  if (started.local_world == 1) return;
  const std::string gpu =
      gpu_of_rank(std::getenv(kVisibleGpus), started.local_rank, started.local_world);
  ::setenv(kVisibleGpus, gpu.c_str(), /*overwrite=*/1);
}

/// Rank 0 prints. Signals are for rank 0, which ends the run in order; launchers send them to all.
void be_quiet() {
  log::set_level(log::Level::kError);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing >= 0) {
    ::dup2(nothing, STDOUT_FILENO);
    ::close(nothing);
  }
  static_cast<void>(std::signal(SIGINT, SIG_IGN));
  static_cast<void>(std::signal(SIGTERM, SIG_IGN));
}

}  // namespace

MetRanks meet_ranks(const runtime::StartedRank& started) {
  choose_gpu(started);
  if (started.rank > 0) be_quiet();
  const std::string version =
      fmt::format("Elixir {} with LibTorch {}", ELIXIR_VERSION, TORCH_VERSION);
  return {started, runtime::meet(started, version, patience())};
}

void check_met(const MetRanks& met, const TrainOptions& options, const TrainInputs& inputs) {
  compare_identities(identity_of(options, inputs), met.ways.ranks());
  const int world = inputs.run.plan.world;
  if (world == met.started.world) return;
  throw Error(ErrorCode::kRanksContradict,
              "{} ranks were started, the plan is for {}",
              met.started.world,
              world)
      .help("start {} ranks, or search a plan with --gpus {}", world, met.started.world);
}

int threads_of_started_rank() {
  return std::getenv("OMP_NUM_THREADS") == nullptr ? 0 : at::get_num_threads();
}

void warn_of_few_threads(const MetRanks& met, const plan::Plan& plan, Context& context) {
  const auto cores =
      static_cast<int>(std::thread::hardware_concurrency()) / met.started.local_world;
  const bool updates_on_host =
      std::any_of(plan.chunks.begin(), plan.chunks.end(), [](const plan::Chunk& chunk) {
        return chunk.optimizer_home == plan::Home::kHost && !chunk.streams_update;
      });
  const auto variable = [](const std::string& name) { return std::getenv(name.c_str()); };
  if (!updates_on_host || !has_too_few_threads(variable, cores)) return;
  context.warn(
      "AdamW on the host has one thread in each rank, because torchrun sets OMP_NUM_THREADS=1",
      {fmt::format(
          "this machine has {} cores for each rank: OMP_NUM_THREADS={} torchrun …", cores, cores)});
}

Answer follow(TrainOptions options,
              const runtime::RankWays& ways,
              const MetRanks* met,
              Context& context) {
  options.dry_run = true;  // rank 0 makes the run directory
  end_when_overdue(ways);
  std::string run_directory;
  try {
    run_directory = find_place(options, context).path;
    const TrainInputs inputs = read_inputs(open_files(options, context), options, context);
    if (met != nullptr) check_met(*met, options, inputs);
    train::RunOptions wanted = run_options(options, ways.ranks(), context);
    train::follow(inputs.run, wanted);
  } catch (const Error& error) {
    leave_traces(error, ways, run_directory, context);
    throw;
  }
  return Answer::kYes;
}

void end_when_overdue(const runtime::RankWays& ways) {
  // With the time until a rank that has ended is missed, less than ten seconds.
  constexpr std::chrono::seconds kForEnding{8};
  ways.when_overdue(
      [](const std::string& loss) {
        const std::string text = fmt::format("error[{}]: {}; this process did not end by itself\n",
                                             code_text(ErrorCode::kRankLost),
                                             loss);
        static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
        ::_exit(exit_code_of(ErrorCode::kRankLost));
      },
      kForEnding);
}

void tell_others(const Error& error, const runtime::RankWays& ways) {
  const ErrorInfo& info = error.info();
  if (info.code == ErrorCode::kRankLost || info.code == ErrorCode::kRanksDiffer) return;
  ways.say_failure(fmt::format("{}: {}", code_text(info.code), info.message));
}

void leave_traces(const Error& error,
                  const runtime::RankWays& ways,
                  const std::string& run_directory,
                  const Context& context) {
  tell_others(error, ways);
  if (ways.recorder().position().step == 0) return;
  const runtime::Ranks ranks = ways.ranks();
  train::write_last_tasks(run_directory,
                          ways.recorder(),
                          ranks.rank(),
                          ranks.world(),
                          error.info(),
                          make_meta("elixir-train", context.argv()));
}

}  // namespace elixir::tools
