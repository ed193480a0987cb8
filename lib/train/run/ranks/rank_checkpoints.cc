// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/rank_checkpoints.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"
#include "core/files.h"
#include "train/run/ranks/rank_reports.h"
#include "train/run/shards/rank_file.h"
#include "train/run/shards/shard_index.h"
#include "train/run/training_state.h"

namespace elixir::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHelp =
    "every rank reads and writes checkpoints: put the run directory where all hosts have it, at "
    "the same path";

/// On rank 0: every other one has written its file here.
void check_seen(const std::string& directory,
                const std::vector<std::string>& names,
                const std::vector<RankReport>& reports) {
  for (std::size_t rank = 1; rank < reports.size(); ++rank) {
    const std::string path = (fs::path(directory) / names[rank]).string();
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (!error && bytes == static_cast<std::uintmax_t>(reports[rank].bytes)) continue;
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

void check_shared(const std::string& directory, const runtime::Ranks& ranks) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(ranks.world()));
  for (int rank = 0; rank < ranks.world(); ++rank) names.push_back(fmt::format("rank-{}", rank));
  const auto leave_sign = [&] {
    const std::string& name = names[static_cast<std::size_t>(ranks.rank())];
    write_file((fs::path(directory) / name).string(), name, Overwrite::kRefuse);
    return RankReport{.bytes = static_cast<std::int64_t>(name.size())};
  };
  const std::vector<RankReport> reports = work_together(*ranks.control, leave_sign, kHelp);
  if (ranks.rank() == 0) check_seen(directory, names, reports);
}

CheckpointContent save_shards(const std::string& directory,
                              runtime::Trainer& trainer,
                              const runtime::Ranks& ranks,
                              const std::function<void(double)>& progress) {
  const std::vector<StateShard> shards = shards_of(trainer, ranks.rank());
  const auto write_own = [&] {
    const CheckpointFile file =
        write_rank_file(directory, ranks.rank(), ranks.world(), shards, progress);
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
  check_seen(directory, names, reports);
  content.tensors = index_of(shards);
  return content;
}

void restore_shards(const std::string& path,
                    runtime::Trainer& trainer,
                    const runtime::Ranks& ranks) {
  const std::vector<StateShard> shards = shards_of(trainer, ranks.rank());
  if (ranks.control == nullptr) return restore_checkpoint(path, shards);
  work_together(
      *ranks.control,
      [&] {
        restore_checkpoint(path, shards);
        return RankReport{};
      },
      kHelp);
}

}  // namespace elixir::train
