// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What every rank does of a checkpoint. All ranks call these at once, with the same path, and each
// with its own trainer, which has no step under way. Here work_together() says what is thrown; what
// is beneath comes from write_rank_file() and restore_checkpoint().

#include <functional>
#include <string>

#include "runtime/trainer.h"
#include "train/run/checkpoint.h"

namespace elixir::train {

/// Each rank leaves a sign in `directory`, which rank 0 has made. On rank 0 it throws
/// kOutputUnwritable when it does not see one: the hosts do not share the directory.
void check_shared(const std::string& directory, const runtime::Ranks& ranks);

/// The files of all ranks in `directory`, and their index. Throws as check_shared().
CheckpointContent save_shards(const std::string& directory,
                              runtime::Trainer& trainer,
                              const runtime::Ranks& ranks,
                              const std::function<void(double)>& progress = {});

/// Restores from the checkpoint at `path`. There may be one rank.
void restore_shards(const std::string& path,
                    runtime::Trainer& trainer,
                    const runtime::Ranks& ranks);

}  // namespace elixir::train
