// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/resume.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::train {
namespace {

/// Refuses far more threads than CPUs, because such a run would never end. Fewer threads than in
/// the run are no alternative: results depend on the number of threads.
void check_threads(int threads) {
  constexpr unsigned kMostPerCpu = 16;
  const unsigned cpus = std::max(1U, std::thread::hardware_concurrency());
  if (static_cast<unsigned>(threads) <= kMostPerCpu * cpus) return;
  throw Error(ErrorCode::kMachineTooSmall,
              "the checkpoint's run used {} threads, this machine has {} CPUs",
              threads,
              cpus)
      .help("resume on a machine like the one it ran on");
}

}  // namespace

std::optional<FoundCheckpoint> find_resume_point(
    const std::string& checkpoints_directory,
    const std::string& run_id,
    const RunInputs& inputs,
    const std::function<void(const std::string&)>& warn) {
  std::optional<FoundCheckpoint> found = newest_checkpoint(checkpoints_directory, run_id);
  if (!found) return std::nullopt;
  const CheckpointInfo& info = found->info;
  check_threads(info.cpu_threads);
  for (const std::string& rejected : found->rejected) {
    warn("damaged checkpoint not used: " + rejected);
  }
  if (info.program_fingerprint != inputs.fingerprint) {
    throw Error(ErrorCode::kPlanOfAnotherProgram,
                "the checkpoint is of program {}, plan and model of {}",
                info.program_fingerprint.substr(0, 12),
                inputs.fingerprint.substr(0, 12))
        .help("resume with the model and shapes the run was started with");
  }
  if (info.rows_per_step != inputs.rows_per_step()) {
    warn(fmt::format("the run had {} rows a step, this plan has {}: other rows follow",
                     info.rows_per_step,
                     inputs.rows_per_step()));
  }
  return found;
}

}  // namespace elixir::train
