// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A checkpoint is a directory, RUN/checkpoints/step-NNNNNNNNNN/, with three files:
//   model.safetensors      parameters in the training dtype and mutated buffers, by original name
//   optimizer.safetensors  NAME/master, NAME/moment1, NAME/moment2
//   state.json             everything else (`elixir.checkpoint`)
// It is written under a temporary name, files and directory are synced, then it is renamed: one
// that has its final name is whole, and its digests say whether the disk kept it. A killed process
// leaves at most a hidden directory, which the next one removes. The caller holds the run
// directory's lock (run_lock.h).

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

/// One tensor of the training state: how to get it and how to put it back, as a CPU tensor.
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

/// What state.json says beside the tensors.
struct CheckpointInfo {
  std::string run_id;     ///< of the run directory
  std::int64_t step = 0;  ///< optimizer steps done
  std::string program_fingerprint;
  program::DeviceKind device = program::DeviceKind::kCpu;
  int cpu_threads = 1;  ///< the bitwise law holds for one thread count
  std::uint64_t seed =
      0;  ///< with the step, all there is to the random state and to the data position
  LearningRate learning_rate;
  std::string data_format;
  std::int64_t rows_per_step = 0;
};

/// Writes a checkpoint and removes older ones beyond the newest `keep` (at least 1); returns its
/// path. kDiskFull, kOutputUnwritable, kIoError: then the older ones are untouched and nothing
/// partial is left. `progress`, if given, is told the share that is written, in [0, 1].
std::string write_checkpoint(const std::string& directory,
                             const CheckpointInfo& info,
                             const TrainingState& state,
                             int keep,
                             const Json& meta,
                             const std::function<void(double)>& progress = {});

struct FoundCheckpoint {
  std::string path;
  CheckpointInfo info;
  std::vector<std::string> rejected;  ///< newer ones and why each is not used
};
/// The newest checkpoint whose documents and digests hold; nullopt when there is no checkpoint at
/// all. kBadCheckpoint when there are some and all are damaged, kMixedRuns when it is not of run
/// `run_id`. An interrupt ends it.
[[nodiscard]] std::optional<FoundCheckpoint> newest_checkpoint(const std::string& directory,
                                                               const std::string& run_id);

/// Puts every tensor back. kBadCheckpoint unless the files hold exactly the tensors of `state`. An
/// interrupt ends it.
void restore_checkpoint(const FoundCheckpoint& checkpoint, const TrainingState& state);

/// Removes what a killed process left: hidden directories of unfinished writes and removals.
void remove_leftovers(const std::string& directory);

}  // namespace elixir::train
