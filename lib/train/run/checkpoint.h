// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Checkpoints. A checkpoint is a directory, RUN/checkpoints/step-NNNNNNNNNN/, with three files:
//   model.safetensors      parameters in the training dtype and mutated buffers, by original name
//   optimizer.safetensors  NAME/master, NAME/moment1, NAME/moment2
//   state.json             everything else (`elixir.checkpoint`)
// It is written under a temporary name, then files and directory are synced, then it is renamed. So
// a checkpoint under its final name is complete; its digests detect damage by the disk. A killed
// process leaves at most a hidden directory, which the next process removes. The caller must hold
// the run directory's lock (run_lock.h).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/json.h"
#include "program/choices.h"
#include "program/program.h"
#include "train/run/learning_rate.h"

namespace elixir::train {

/// One tensor of the training state, with functions to read and write it as a CPU tensor.
struct StateTensor {
  std::string name;
  program::DType dtype = program::DType::kFloat32;
  std::vector<std::int64_t> sizes;
  std::function<at::Tensor()> read;
  std::function<void(const at::Tensor&)> write;
};

struct TrainingState {
  std::vector<StateTensor> model, optimizer;
};

/// The content of state.json, without the tensors.
struct CheckpointInfo {
  std::string run_id;     ///< id of the run directory
  std::int64_t step = 0;  ///< optimizer steps done
  std::string program_fingerprint;
  program::DeviceKind device = program::DeviceKind::kCpu;
  int cpu_threads = 1;     ///< bit-identical results need the same thread count
  std::uint64_t seed = 0;  ///< seed and step determine the random state and the data position
  LearningRate learning_rate;
  std::string data_format;
  std::int64_t rows_per_step = 0;
};

/// Writes a checkpoint, then removes older ones except the newest `keep` (at least 1). Returns its
/// path. Throws kDiskFull, kOutputUnwritable, kIoError: then the older checkpoints are unchanged
/// and no partial one is left. `progress`, if given, gets the share written so far, in [0, 1].
std::string write_checkpoint(const std::string& directory,
                             const CheckpointInfo& info,
                             const TrainingState& state,
                             int keep,
                             const Json& meta,
                             const std::function<void(double)>& progress = {});

struct FoundCheckpoint {
  std::string path;
  CheckpointInfo info;
  std::vector<std::string> rejected;  ///< newer ones, with the reason why each is not used
};
/// The newest checkpoint whose documents and digests are valid; nullopt when there is none at all.
/// Throws kBadCheckpoint when there are checkpoints but all are damaged, and kMixedRuns when it is
/// not of run `run_id`. An interrupt throws Interrupted.
[[nodiscard]] std::optional<FoundCheckpoint> newest_checkpoint(const std::string& directory,
                                                               const std::string& run_id);

/// Writes every tensor back into `state`. Throws kBadCheckpoint unless the files hold exactly the
/// tensors of `state`. An interrupt throws Interrupted.
void restore_checkpoint(const FoundCheckpoint& checkpoint, const TrainingState& state);

/// Removes what a killed process left: hidden directories of unfinished writes and removals.
void remove_leftovers(const std::string& directory);

}  // namespace elixir::train
