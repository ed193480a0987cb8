// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/rank_checkpoints.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/file_error.h"
#include "train/input_file.h"
#include "train/run/ranks/rank_reports.h"
#include "train/run/shards/rank_file.h"
#include "train/run/shards/shard_index.h"
#include "train/run/training_state.h"

namespace elixir::train {
namespace {

constexpr const char* kHelp =
    "every rank reads and writes checkpoints: put the run directory where all hosts have it, at "
    "the same path";

/// On rank 0: every other one has written its file here.
void check_seen(const Directory& directory,
                const std::vector<std::string>& names,
                const std::vector<RankReport>& reports) {
  for (std::size_t rank = 1; rank < reports.size(); ++rank) {
    const std::string& name = names[rank];
    if (directory.kind_of(name) == Directory::Kind::kFile &&
        InputFile::open(directory, name)->size_bytes() == reports[rank].bytes) {
      continue;
    }
    const std::string path = directory.file(name);
    throw file_error(ErrorCode::kOutputUnwritable,
                     path,
                     "rank {} of {} on {} has written `{}`, and rank 0 on {} does not see it",
                     rank,
                     reports.size(),
                     reports[rank].host,
                     path,
                     reports.front().host)
        .help(kHelp);
  }
}

}  // namespace

JoinedRun join_run(const std::string& path, const std::string& attempt) {
  const auto fail = [&](const std::string& why) {
    return file_error(ErrorCode::kOutputUnwritable, path, "cannot write to `{}`: {}", path, why);
  };
  if (::access(path.c_str(), W_OK | X_OK) != 0) throw fail(std::strerror(errno));
  Directory directory = Directory::open(path);
  RunLock lock = RunLock::follow(directory, attempt);
  std::optional<Directory> checkpoints = directory.find("checkpoints");
  if (!checkpoints) throw fail("it has no checkpoints/");
  return {std::move(directory), std::move(*checkpoints), std::move(lock)};
}

void await_joined(const runtime::Ranks& ranks) {
  work_together(
      *ranks.control, [] { return RankReport{}; }, kHelp);
}

void join_with_others(const std::string& path,
                      const std::string& attempt,
                      const runtime::Ranks& ranks,
                      std::optional<JoinedRun>& joined) {
  work_together(
      *ranks.control,
      [&] {
        joined.emplace(join_run(path, attempt));
        return RankReport{};
      },
      kHelp);
}

CheckpointContent save_shards(const Directory& checkpoints,
                              const std::string& name,
                              runtime::Trainer& trainer,
                              const runtime::Ranks& ranks,
                              const std::function<void(double)>& progress) {
  const std::vector<StateShard> shards = shards_of(trainer, ranks.rank());
  std::optional<Directory> directory;
  const auto write_own = [&] {
    directory = checkpoints.find(name);
    if (!directory) throw change_error(checkpoints.file(name), ENOENT);
    const CheckpointFile file =
        write_rank_file(*directory, ranks.rank(), ranks.world(), shards, progress);
    return RankReport{.bytes = file.bytes, .digest = file.digest};
  };
  const std::vector<RankReport> reports = work_together(*ranks.control, write_own, kHelp);
  CheckpointContent content;
  if (ranks.rank() > 0) return content;
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks.world(); ++rank) {
    const RankReport& report = reports[static_cast<std::size_t>(rank)];
    names.push_back(rank_file_name(rank, ranks.world()));
    content.files.push_back({names.back(), report.bytes, report.digest});
  }
  check_seen(*directory, names, reports);
  content.tensors = index_of(shards);
  return content;
}

void restore_shards(const Directory& checkpoints,
                    const std::string& name,
                    runtime::Trainer& trainer,
                    const runtime::Ranks& ranks) {
  const std::vector<StateShard> shards = shards_of(trainer, ranks.rank());
  const auto restore = [&] { restore_checkpoint(open_checkpoint(checkpoints, name), shards); };
  if (ranks.control == nullptr) return restore();
  work_together(
      *ranks.control,
      [&] {
        restore();
        return RankReport{};
      },
      kHelp);
}

}  // namespace elixir::train
