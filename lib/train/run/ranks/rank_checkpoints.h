// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What every rank does in the run directory. All ranks call these at once, each with the directory
// as its host sees it and with its own trainer, which has no step under way. Here work_together()
// says what is thrown; what is beneath comes from write_rank_file() and restore_checkpoint().

#include <functional>
#include <optional>
#include <string>

#include "core/directory.h"
#include "runtime/trainer.h"
#include "train/run/checkpoint.h"
#include "train/run/run_lock.h"

namespace elixir::train {

/// The directory of a run that rank 0 leads, as another rank has it.
struct JoinedRun {
  Directory directory, checkpoints;
  RunLock lock;
};
/// Opens `path` and locks it. Throws kOutputUnwritable when this rank cannot write there, or it is
/// not the directory that rank 0 of `attempt` holds: the hosts do not share it.
[[nodiscard]] JoinedRun join_run(const std::string& path, const std::string& attempt);
/// On rank 0, while the others join. Throws kOutputUnwritable when one cannot.
void await_joined(const runtime::Ranks& ranks);
/// On another rank.
void join_with_others(const std::string& path,
                      const std::string& attempt,
                      const runtime::Ranks& ranks,
                      std::optional<JoinedRun>& joined);

/// The files of all ranks in the directory `name`, which rank 0 has made, and their index. On rank
/// 0 it throws kOutputUnwritable when it does not see the file of another rank.
CheckpointContent save_shards(const Directory& checkpoints,
                              const std::string& name,
                              runtime::Trainer& trainer,
                              const runtime::Ranks& ranks,
                              const std::function<void(double)>& progress = {});

/// Restores from the checkpoint `name`. There may be one rank.
void restore_shards(const Directory& checkpoints,
                    const std::string& name,
                    runtime::Trainer& trainer,
                    const runtime::Ranks& ranks);

}  // namespace elixir::train
