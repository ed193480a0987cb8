// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Checkpoints of several ranks, written and read by one process in the place of each.
#include <algorithm>
#include <filesystem>
#include <map>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/equal.h>
#include <fmt/format.h>

#include "core/files.h"
#include "train/run/checkpoint.h"
#include "train/run/shards/rank_file.h"
#include "train/run/shards/shard_index.h"
#include "train/run/shards/stored_tensors.h"
#include "train/support.h"

namespace elixir::train {
namespace {

namespace fs = std::filesystem;

using program::DType;
using runtime::HeldElements;
using test::content_of;
using test::error_of;
using test::TemporaryDirectory;

const Attempt kAttemptOfRanks{std::string(kIdLetters, 'a'), std::nullopt};
const RunIdentity kRunOfRanks{"0123456789abcdef0123456789abcdef", {kAttemptOfRanks}};

std::optional<FoundCheckpoint> newest_of_ranks(const std::string& path) {
  return newest_checkpoint(Directory::open(path), kRunOfRanks);
}

/// Elements that are unlike each other, in this order of memory.
at::Tensor numbered(const std::vector<std::int64_t>& sizes,
                    const std::vector<std::int64_t>& strides,
                    double from) {
  at::Tensor tensor = at::empty_strided(sizes, strides, at::TensorOptions().dtype(at::kFloat));
  const std::int64_t count = tensor.numel();
  tensor.copy_(at::arange(from, from + static_cast<double>(count)).reshape(sizes));
  return tensor;
}

/// The state of all ranks of a training.
class FakeRanks {
 public:
  /// `order`: of the matrix, which one rank may hold, or two, or none.
  explicit FakeRanks(int world, double from, std::vector<std::int64_t> order = {7, 1})
      : world_(world) {
    values_["matrix"] = numbered({10, 7}, order, from);
    values_["vector"] = numbered({3}, {1}, from + 500);
    values_["none"] = numbered({0, 4}, {4, 1}, 0);
    values_["matrix/moment1"] = numbered({10, 7}, order, from + 1000);
    values_["running"] = numbered({5}, {1}, from + 2000);
  }
  FakeRanks(const FakeRanks&) = delete;

  [[nodiscard]] std::vector<StateShard> shards(int rank) {
    std::vector<StateShard> shards;
    for (auto& [name, value] : values_) {
      StateShard shard{name, DType::kFloat32, value.sizes().vec(), value.strides().vec()};
      const std::int64_t count = value.numel();
      for (int other = 0; other < world_; ++other) {
        shard.saved.push_back(name == "running" ? HeldElements{0, other == 0 ? count : 0}
                                                : part_of(other, count));
      }
      shard.needed = name == "running" ? HeldElements{0, count} : shard.saved[rank];
      const auto part = [&tensor = value](const HeldElements& held) {
        return tensor.as_strided({held.count}, {1}, held.first);
      };
      shard.read = [part, held = shard.saved[rank]] { return part(held); };
      shard.write = [part, held = shard.needed](const at::Tensor& read) { part(held).copy_(read); };
      shards.push_back(std::move(shard));
    }
    return shards;
  }
  /// Returns its path.
  std::string write(const std::string& directory, std::int64_t step = 1) {
    CheckpointInfo info;
    info.run_id = kRunOfRanks.run_id;
    info.attempt = kAttemptOfRanks;
    info.step = step;
    info.program_fingerprint = "abc";
    info.data_format = "bytes";
    const auto content = [&](const UnfinishedDirectory& into) {
      CheckpointContent written{{}, index_of(shards(0))};
      for (int rank = 0; rank < world_; ++rank) {
        written.files.push_back(write_rank_file(into.directory(), rank, world_, shards(rank)));
      }
      return written;
    };
    return write_checkpoint(Directory::open(directory), info, content, 5, Json::object());
  }
  void restore(const std::string& path) {
    for (int rank = 0; rank < world_; ++rank) {
      restore_checkpoint(Directory::open(path), shards(rank));
    }
  }
  [[nodiscard]] bool operator==(const FakeRanks& other) const {
    return std::all_of(values_.begin(), values_.end(), [&](const auto& each) {
      return at::equal(each.second, other.values_.at(each.first));
    });
  }

 private:
  /// Shards of 32 elements, the last rank has the rest.
  [[nodiscard]] HeldElements part_of(int rank, std::int64_t count) const {
    constexpr std::int64_t kShard = 32;
    const std::int64_t first = std::min(rank * kShard, count);
    const std::int64_t end = rank + 1 == world_ ? count : std::min(first + kShard, count);
    if (end == first) return {};
    return {first, end - first};
  }
  int world_;
  std::map<std::string, at::Tensor> values_;
};

void edit_state(const std::string& checkpoint, const std::function<void(Json&)>& edit) {
  Json document = Json::parse(content_of(checkpoint + "/state.json"));
  edit(document);
  document.erase("digest");
  document["digest"] = sha256_hex(dump(document));
  std::ofstream(checkpoint + "/state.json") << dump(document);
}

TEST(Shards, AreRestoredByAnyNumberOfRanks) {
  for (int world = 1; world <= 4; ++world) {
    const TemporaryDirectory directory;
    FakeRanks written(world, 1);
    written.write(directory.path());
    const auto found = newest_of_ranks(directory.path());
    ASSERT_TRUE(found.has_value());
    for (int others = 1; others <= 4; ++others) {
      FakeRanks restored(others, 7000);
      EXPECT_FALSE(restored == written);
      restored.restore(found->path);
      EXPECT_TRUE(restored == written) << world << " to " << others;
    }
  }
}

TEST(Shards, AreRestoredInAnotherOrderOfMemory) {
  const TemporaryDirectory directory;
  FakeRanks written(3, 1, {1, 10});
  const std::string path = written.write(directory.path());
  FakeRanks restored(2, 7000, {7, 1});
  restored.restore(path);
  EXPECT_TRUE(restored == written);
}

TEST(Shards, EachRankWritesOnlyItsOwn) {
  const TemporaryDirectory directory;
  const std::string path = FakeRanks(4, 1).write(directory.path());
  std::int64_t elements = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const auto file = Safetensors::open(path + "/" + rank_file_name(rank, 4));
    for (const SafetensorsEntry& entry : file->entries()) elements += entry.bytes / 4;
    EXPECT_EQ(file->entries().empty(), rank == 3) << rank;  // two have no element of the matrix
  }
  EXPECT_EQ(elements, 70 + 3 + 70 + 5);
  EXPECT_FALSE(fs::exists(path + "/" + kModelFile));
}

TEST(Shards, AMissingCutOrDamagedFileIsNamed) {
  for (const std::string how : {"missing", "cut", "damaged"}) {
    const TemporaryDirectory directory;
    const std::string older = FakeRanks(3, 1).write(directory.path(), 1);
    const std::string newest = FakeRanks(3, 2).write(directory.path(), 2);
    const std::string file = newest + "/rank-1-of-3.safetensors";
    if (how == "missing") fs::remove(file);
    if (how == "cut") fs::resize_file(file, fs::file_size(file) - 1);
    if (how == "damaged") {
      std::string bytes = content_of(file);
      bytes.back() ^= 1;
      std::ofstream(file, std::ios::binary) << bytes;
    }
    const auto found = newest_of_ranks(directory.path());
    ASSERT_TRUE(found.has_value()) << how;
    EXPECT_EQ(found->path, older);
    ASSERT_EQ(found->rejected.size(), 1U);
    EXPECT_NE(found->rejected.front().find(file), std::string::npos) << found->rejected.front();
    fs::remove_all(older);
    const ErrorInfo error = error_of([&] { static_cast<void>(newest_of_ranks(directory.path())); });
    EXPECT_EQ(error.code, ErrorCode::kBadCheckpoint);
    ASSERT_EQ(error.notes.size(), 1U);
    EXPECT_NE(error.notes.front().find(file), std::string::npos) << error.notes.front();
  }
}

TEST(Shards, WithoutItsIndexADirectoryIsNoCheckpoint) {
  const TemporaryDirectory directory;
  FakeRanks(2, 1).write(directory.path(), 1);
  fs::remove(FakeRanks(2, 2).write(directory.path(), 2) + "/state.json");
  EXPECT_EQ(newest_of_ranks(directory.path())->info.step, 1);
}

TEST(Shards, AnIndexThatDoesNotMakeWholeTensorsIsRefused) {
  const std::map<std::string, std::function<void(Json&)>> edits = {
      {"a piece is missing", [](Json& tensor) { tensor["pieces"].erase(1); }},
      {"pieces overlap", [](Json& tensor) { tensor["pieces"][1]["first"] = 31; }},
      {"a hole", [](Json& tensor) { tensor["pieces"][1]["first"] = 33; }},
      {"too many elements", [](Json& tensor) { tensor["pieces"][1]["elements"] = 39; }},
      {"a rank twice", [](Json& tensor) { tensor["pieces"][1]["rank"] = 0; }},
      {"a rank that is none", [](Json& tensor) { tensor["pieces"][1]["rank"] = 2; }},
      {"negative", [](Json& tensor) { tensor["pieces"][0]["first"] = -1; }},
      {"another shape",
       [](Json& tensor) {
         tensor["shape"] = {10, 8};
       }},
      {"huge",
       [](Json& tensor) {
         tensor["shape"] = {1 << 30, 1 << 30, 1 << 30};
       }},
      {"strides with holes",
       [](Json& tensor) {
         tensor["strides"] = {8, 1};
       }},
      {"strides that overlap",
       [](Json& tensor) {
         tensor["strides"] = {1, 1};
       }},
      {"too few strides", [](Json& tensor) { tensor["strides"] = {1}; }},
      {"unknown dtype", [](Json& tensor) { tensor["dtype"] = "float31"; }},
      {"unknown key", [](Json& tensor) { tensor["more"] = 1; }},
      {"a name twice", [](Json& tensor) { tensor["name"] = "vector"; }},
  };
  for (const auto& [what, edit] : edits) {
    const TemporaryDirectory directory;
    const std::string path = FakeRanks(2, 1).write(directory.path());
    edit_state(path, [](Json&) {});
    ASSERT_TRUE(newest_of_ranks(directory.path()).has_value());
    edit_state(path, [&edit = edit](Json& document) {
      for (Json& tensor : document["tensors"]) {
        if (tensor["name"] == "matrix") return edit(tensor);
      }
    });
    EXPECT_EQ(error_of([&] { static_cast<void>(newest_of_ranks(directory.path())); }).code,
              ErrorCode::kBadCheckpoint)
        << what;
    EXPECT_NE(error_of([&] { FakeRanks(1, 0).restore(path); }).code, ErrorCode::kInternal) << what;
  }
}

TEST(Shards, FilesThatAreNotThoseOfAllRanksAreRefused) {
  const std::map<std::string, std::function<void(Json&)>> edits = {
      {"one less", [](Json& document) { document["files"].erase(1); }},
      {"in another order",
       [](Json& document) { std::swap(document["files"][0], document["files"][1]); }},
      {"elsewhere",
       [](Json& document) { document["files"][1]["name"] = "../rank-1-of-2.safetensors"; }},
      {"no index", [](Json& document) { document["tensors"] = nullptr; }},
  };
  for (const auto& [what, edit] : edits) {
    const TemporaryDirectory directory;
    edit_state(FakeRanks(2, 1).write(directory.path()), edit);
    EXPECT_EQ(error_of([&] { static_cast<void>(newest_of_ranks(directory.path())); }).code,
              ErrorCode::kBadCheckpoint)
        << what;
  }
}

TEST(Shards, AFileThatContradictsTheIndexIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = FakeRanks(2, 1).write(directory.path());
  edit_state(path, [](Json& document) {
    for (Json& tensor : document["tensors"]) {
      if (tensor["name"] == "vector") tensor["pieces"][0]["rank"] = 1;
    }
  });
  const ErrorInfo error = error_of([&] { FakeRanks(2, 0).restore(path); });
  EXPECT_EQ(error.code, ErrorCode::kBadCheckpoint);
  EXPECT_EQ(error.where->file, path + "/rank-1-of-2.safetensors");
}

TEST(Shards, AWriterThatFailsLeavesNothingAndOneThatLostARankItsFiles) {
  for (const ErrorCode code : {ErrorCode::kDiskFull, ErrorCode::kRankLost}) {
    const TemporaryDirectory directory;
    const std::string& path = directory.path();
    const auto fails = [&](const UnfinishedDirectory& into) -> CheckpointContent {
      FakeRanks ranks(2, 1);
      static_cast<void>(write_rank_file(into.directory(), 0, 2, ranks.shards(0)));
      throw Error(code, "no");
    };
    EXPECT_EQ(error_of([&] {
                write_checkpoint(Directory::open(path), {}, fails, 1, Json::object());
              }).code,
              code);
    EXPECT_EQ(fs::is_empty(path), code == ErrorCode::kDiskFull);
    EXPECT_FALSE(newest_of_ranks(path).has_value());
    remove_leftovers(Directory::open(path));
    EXPECT_TRUE(fs::is_empty(path));
  }
}

}  // namespace
}  // namespace elixir::train
