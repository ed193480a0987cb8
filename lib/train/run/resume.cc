// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/resume.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "core/error.h"
#include "train/run/training_state.h"

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

constexpr std::size_t kShownDigits = 12;

/// A program of another batch, for example, has the same state.
void check_same_state(const FoundCheckpoint& found,
                      const Directory& checkpoints,
                      const RunInputs& inputs) {
  try {
    check_tensors(open_checkpoint(checkpoints, found.name),
                  described_state(inputs.captured.program, inputs.plan));
  } catch (const Error& error) {
    if (error.info().code != ErrorCode::kBadCheckpoint) throw;
    throw Error(ErrorCode::kPlanOfAnotherProgram,
                "the checkpoint is of program {}, plan and model of {}: {}",
                found.info.program_fingerprint.substr(0, kShownDigits),
                inputs.fingerprint.substr(0, kShownDigits),
                error.info().message)
        .help("resume with a model whose parameters have the same names, dtypes and shapes");
  }
}

}  // namespace

std::optional<FoundCheckpoint> find_resume_point(
    const Directory& checkpoints,
    const RunIdentity& run,
    const RunInputs& inputs,
    const std::function<void(const std::string&)>& warn) {
  std::optional<FoundCheckpoint> found = newest_checkpoint(checkpoints, run);
  if (!found) return std::nullopt;
  const CheckpointInfo& info = found->info;
  check_threads(info.cpu_threads);
  for (const std::string& rejected : found->rejected) {
    warn(rejected);
  }
  if (info.program_fingerprint != inputs.fingerprint) {
    check_same_state(*found, checkpoints, inputs);
    warn(fmt::format(
        "the checkpoint is of program {}, this run of {}, with the same parameters: its "
        "steps differ from here on",
        info.program_fingerprint.substr(0, kShownDigits),
        inputs.fingerprint.substr(0, kShownDigits)));
  }
  if (info.rows_per_step != inputs.rows_per_step()) {
    warn(fmt::format("the run had {} rows a step, this plan has {}: other rows follow",
                     info.rows_per_step,
                     inputs.rows_per_step()));
  }
  return found;
}

}  // namespace elixir::train
