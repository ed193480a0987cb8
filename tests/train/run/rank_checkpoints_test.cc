// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Checkpoints that several ranks write, each a process with a CPU device: any number of ranks goes
// on from them, under any placement and form of the masters, with the same bits.
#include "train/run/ranks/rank_checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "runtime/rank_training.h"
#include "train/run/ranks/rank_reports.h"
#include "train/run/run_directory.h"
#include "train/run/shards/shard_index.h"
#include "train/support.h"
#include "train/weights/safetensors.h"

namespace elixir::train {
namespace {

using runtime::on_ranks;
using runtime::Placement;
using runtime::Ranks;
using runtime::RankTraining;
using runtime::train_on_ranks;
using runtime::Trainer;
using test::TemporaryDirectory;
using testing::EndsWith;
using testing::HasSubstr;

constexpr std::int64_t kSavedAfter = 2;

/// Every rank calls it. As rank 0 of a run tells the others.
void save(const std::string& path, Trainer& trainer, const Ranks& ranks) {
  const Directory directory = Directory::open(path);
  CheckpointInfo info;
  info.step = kSavedAfter;
  info.attempt.id = "attempt";
  char made = 0;
  if (ranks.rank() > 0) {
    ranks.control->broadcast(0, &made, 1);
    const std::string name =
        fmt::format(".unfinished-step-{:010}-{}", kSavedAfter, info.attempt.id);
    static_cast<void>(save_shards(directory, name, trainer, ranks));
    return;
  }
  const auto content = [&](const UnfinishedDirectory& into) {
    ranks.control->broadcast(0, &made, 1);
    return save_shards(directory, into.name(), trainer, ranks);
  };
  write_checkpoint(directory, info, content, 1, Json::object());
}

std::string name_of_saved() {
  return fmt::format("step-{:010}", kSavedAfter);
}

RankTraining saving(RankTraining training, const std::string& directory) {
  training.last_step = kSavedAfter;
  training.ends = [directory](Trainer& trainer, const Ranks& ranks) {
    save(directory, trainer, ranks);
  };
  return training;
}

/// Goes on until `last_step`.
RankTraining resuming(RankTraining training,
                      const std::string& directory,
                      std::int64_t last_step = kSavedAfter) {
  training.last_step = last_step;
  training.begins = [directory](Trainer& trainer, const Ranks& ranks) {
    restore_shards(Directory::open(directory), name_of_saved(), trainer, ranks);
    trainer.set_steps_done(kSavedAfter);
  };
  return training;
}

std::string bits_of(RankTraining training) {
  return training.placement.world == 1 ? runtime::train_alone(std::move(training))
                                       : train_on_ranks(training);
}

/// Ranks, and how many replicas of everything they hold.
class SavingWorlds : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(SavingWorlds, AreRestoredWithTheSameBits) {
  const TemporaryDirectory directory;
  RankTraining written{.placement = runtime::kAllOnHost};
  std::tie(written.placement.world, written.placement.replicas) = GetParam();
  written.placement.clips = true;
  const std::string saved = bits_of(saving(written, directory.path()));
  for (int world = 1; world <= 4; ++world) {
    std::vector<Placement> placements = runtime::placements(world);
    placements.resize(2);
    placements[1].master = plan::Master::kSeparate;
    placements[1].chunks = 3;
    if (world % 2 == 0) placements[1].replicas = 2;
    for (const Placement& placement : placements) {
      const std::string restored = bits_of(resuming({.placement = placement}, directory.path()));
      EXPECT_GT(restored.size(), 100'000U);
      EXPECT_TRUE(saved.ends_with(restored)) << world << ": " << restored.substr(0, 200);
    }
  }
}

TEST_P(SavingWorlds, GoOnAsIfTheyHadNotBeenInterrupted) {
  const TemporaryDirectory directory;
  RankTraining training{.placement = runtime::kLateMoments};
  std::tie(training.placement.world, training.placement.replicas) = GetParam();
  const std::string whole = bits_of(training);
  static_cast<void>(bits_of(saving(training, directory.path())));
  const std::string resumed = bits_of(resuming(training, directory.path(), 3));
  EXPECT_NE(resumed, bits_of(resuming(training, directory.path())));
  EXPECT_TRUE(whole.ends_with(resumed)) << resumed.substr(0, 200);
}

INSTANTIATE_TEST_SUITE_P(RankCheckpoints,
                         SavingWorlds,
                         testing::Values(std::pair(2, 1),
                                         std::pair(3, 1),
                                         std::pair(4, 1),
                                         std::pair(2, 2),
                                         std::pair(4, 2)));

TEST(RankCheckpoints, HaveBuffersThatAStepChanges) {
  const TemporaryDirectory directory;
  RankTraining written{.model = "resnet-tiny", .placement = runtime::kAllOnDevice};
  written.placement.world = 2;
  const std::string saved = bits_of(saving(written, directory.path()));
  for (const int world : {1, 3}) {
    RankTraining other = written;
    other.placement.world = world;
    const std::string restored = bits_of(resuming(other, directory.path()));
    EXPECT_TRUE(saved.ends_with(restored)) << world << ": " << restored.substr(0, 200);
  }
}

TEST(RankCheckpoints, AreWrittenByAllRanks) {
  const TemporaryDirectory directory;
  RankTraining training{.placement = runtime::kAllOnDevice};
  training.placement.world = 2;
  training.placement.chunks = 1;
  for (const int replicas : {1, 2}) {
    training.placement.replicas = replicas;
    const std::string replicas_directory = directory.path() + "/" + std::to_string(replicas);
    std::filesystem::create_directory(replicas_directory);
    static_cast<void>(bits_of(saving(training, replicas_directory)));
    for (int rank = 0; rank < 2; ++rank) {
      const auto file = Safetensors::open(replicas_directory + "/" + name_of_saved() + "/" +
                                          rank_file_name(rank, 2));
      EXPECT_GT(file->entries().size(), 3U) << rank << " of " << replicas;
    }
  }
}

/// "EX0204: message" of what `body` throws.
std::string error_text(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return fmt::format("{}: {}", code_text(error.info().code), error.info().message);
  }
  return "nothing";
}

TEST(RankCheckpoints, AFailureOfOneRankIsAnErrorOfTheFirst) {
  const std::vector<std::string> texts = on_ranks(3, [](const Ranks& ranks) {
    return error_text([&] {
      static_cast<void>(work_together(
          *ranks.control,
          [&]() -> RankReport {
            if (ranks.rank() == 2) throw Error(ErrorCode::kDiskFull, "no room");
            return {.bytes = ranks.rank()};
          },
          "help"));
    });
  });
  EXPECT_THAT(texts[0], HasSubstr("EX0702: rank 2 of 3 on "));
  EXPECT_THAT(texts[0], EndsWith(": no room"));
  EXPECT_EQ(texts[1], "nothing");
  EXPECT_EQ(texts[2], "EX0702: no room");
}

TEST(RankCheckpoints, EveryRankHearsWhatTheOthersReport) {
  const std::vector<std::string> texts = on_ranks(3, [](const Ranks& ranks) {
    std::string all;
    const auto work = [&] {
      return RankReport{.bytes = 10 + ranks.rank(), .digest = std::string(64, 'a' + ranks.rank())};
    };
    for (const RankReport& report : work_together(*ranks.control, work, "help")) {
      all += fmt::format("{} {} ", report.bytes, report.digest.substr(60));
    }
    return all;
  });
  for (const std::string& text : texts) EXPECT_EQ(text, "10 aaaa 11 bbbb 12 cccc ");
}

TEST(RankCheckpoints, ADirectoryThatIsNotSharedIsFoundOut) {
  const TemporaryDirectory directory;
  RunDirectory run = RunDirectory::create(directory.file("run"), Overwrite::kRefuse);
  const RunDirectory other = RunDirectory::create(directory.file("other"), Overwrite::kRefuse);
  const auto joined = [&](const std::string& path) {
    return on_ranks(2, [&](const Ranks& ranks) {
      return error_text([&] {
        if (ranks.rank() == 0) return await_joined(ranks);
        std::optional<JoinedRun> seen;
        join_with_others(path, run.attempt().id, ranks, seen);
        EXPECT_TRUE(seen.has_value());
      });
    });
  };
  EXPECT_EQ(joined(run.path()), (std::vector<std::string>{"nothing", "nothing"}));
  // The other rank has a directory of this name, but it is another one, or no run, or none.
  for (const std::string& path : {other.path(), directory.path(), directory.file("none")}) {
    EXPECT_THAT(joined(path)[0], HasSubstr("EX0204: rank 1 of 2 on ")) << path;
  }
}

}  // namespace
}  // namespace elixir::train
