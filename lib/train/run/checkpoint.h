// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Checkpoints. A checkpoint is a directory, RUN/checkpoints/step-NNNNNNNNNN/. One process writes
//
//   model.safetensors      parameters in the training dtype, persistent buffers
//   optimizer.safetensors  NAME/master, NAME/moment1, NAME/moment2, other buffers of the step
//   state.json             everything else (`elixir.checkpoint`)
//
// Of several ranks each writes a file with its elements of all these tensors, at the same time
// (shards/rank_file.h), and state.json has their index (shards/shard_index.h). Whoever wrote it,
// any number of ranks can go on from it.
//
// It is written under a temporary name of this attempt, then files and directory are synced, then
// it is renamed. So a checkpoint under its final name is complete; its digests detect damage by the
// disk. A killed process leaves at most a hidden directory, which the next process removes. The
// caller must hold the run directory's lock (run_lock.h).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/directory.h"
#include "core/json.h"
#include "program/choices.h"
#include "program/program.h"
#include "runtime/loss_scaler.h"
#include "train/run/attempts.h"
#include "train/run/learning_rate.h"
#include "train/run/run_config.h"
#include "train/run/shards/state_shard.h"

namespace elixir::train {

/// One whole tensor of the training state, with a function to read it as a CPU tensor.
struct StateTensor {
  std::string name;
  program::DType dtype = program::DType::kFloat32;
  std::vector<std::int64_t> sizes;
  std::function<at::Tensor()> read;
};

struct TrainingState {
  std::vector<StateTensor> model;      ///< what a state_dict has
  std::vector<StateTensor> optimizer;  ///< what else the next step needs
};

/// The content of state.json, without the tensors.
struct CheckpointInfo {
  std::string run_id;     ///< id of the run directory
  Attempt attempt;        ///< that wrote it
  std::int64_t step = 0;  ///< optimizer steps done
  std::string program_fingerprint;
  program::DeviceKind device = program::DeviceKind::kCpu;
  int cpu_threads = 1;     ///< bit-identical results need the same thread count
  std::uint64_t seed = 0;  ///< seed and step determine the random state and the data position
  LearningRate learning_rate;
  std::optional<runtime::LossScaleState> loss_scale;
  std::string data_format;
  std::int64_t rows_per_step = 0;
};

struct CheckpointFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string digest;  ///< digest_of_file()
};
/// Of a file that has just been written.
[[nodiscard]] CheckpointFile checkpoint_file(const Directory& directory, const std::string& name);

/// What is written beside state.json.
struct CheckpointContent {
  std::vector<CheckpointFile> files;
  Json tensors = nullptr;  ///< the index; null: the files have whole tensors
};
/// A hidden directory for what is not whole yet, made empty and removed at the end.
class UnfinishedDirectory {
 public:
  /// `attempt`: that of this process. So the ranks of an earlier one never write into it. Throws as
  /// write_checkpoint().
  UnfinishedDirectory(const Directory& parent, const std::string& name, const std::string& attempt);
  ~UnfinishedDirectory();
  UnfinishedDirectory(const UnfinishedDirectory&) = delete;
  UnfinishedDirectory& operator=(const UnfinishedDirectory&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Directory& directory() const { return *directory_; }
  /// It was renamed, or remove_leftovers() will find it.
  void leave() { leaves_ = true; }

 private:
  const Directory& parent_;
  std::string name_;
  std::optional<Directory> directory_;
  bool leaves_ = false;
};

/// Writes the files into this directory. When it throws kRankLost, other ranks may still write
/// there.
using ContentWriter = std::function<CheckpointContent(const UnfinishedDirectory& directory)>;

/// The files of one process. `progress`, if given, gets the share written so far, in [0, 1].
/// `state` must outlive the writer.
[[nodiscard]] ContentWriter whole_tensors(const TrainingState& state,
                                          std::function<void(double)> progress = {});

/// Writes a checkpoint, then removes older ones except the newest `keep` (at least 1). Returns its
/// path. There must be none of this step (set_aside()). Throws kDiskFull, kOutputUnwritable,
/// kIoError: then the older checkpoints are unchanged and no partial one is left. Throws what
/// `write_content` throws, likewise; after kRankLost the partial one stays, hidden.
std::string write_checkpoint(const Directory& checkpoints,
                             const CheckpointInfo& info,
                             const ContentWriter& write_content,
                             int keep,
                             const Json& meta);

struct FoundCheckpoint {
  std::string name;  ///< in the directory of checkpoints
  std::string path;  ///< for messages
  CheckpointInfo info;
  std::vector<std::string> rejected;  ///< newer ones, with the reason why each is not used
};
/// The newest checkpoint on the branch of the run's newest attempt whose documents and digests are
/// valid; nullopt when there is none at all. One that is damaged, or of another branch, is passed
/// over; one that cannot be read is not, because an older one would begin another branch: throws
/// kFileUnreadable or kIoError, which name the file. Throws kBadCheckpoint when there are
/// checkpoints but none to go on from, and kMixedRuns when one is not of this run. An interrupt
/// throws Interrupted.
[[nodiscard]] std::optional<FoundCheckpoint> newest_checkpoint(const Directory& checkpoints,
                                                               const RunIdentity& run);

/// Gives another name to each checkpoint of a step after this one. They are no checkpoints then,
/// and stay until the user removes them. Returns the new names.
std::vector<std::string> set_aside(const Directory& checkpoints,
                                   std::int64_t step,
                                   const std::string& attempt);

/// Throws kBadCheckpoint unless this checkpoint has exactly the tensors of `shards`: by name, with
/// dtype and shape.
void check_tensors(const Directory& checkpoint, const std::vector<StateShard>& shards);

/// Restores what this rank needs, in the order of `shards`, from this checkpoint. Throws as
/// check_tensors(). An interrupt throws Interrupted.
void restore_checkpoint(const Directory& checkpoint, const std::vector<StateShard>& shards);

/// The checkpoint of this name. Throws kBadCheckpoint when there is none.
[[nodiscard]] Directory open_checkpoint(const Directory& checkpoints, const std::string& name);

/// Removes what a killed process left: hidden directories of unfinished writes and removals.
void remove_leftovers(const Directory& checkpoints);

}  // namespace elixir::train
