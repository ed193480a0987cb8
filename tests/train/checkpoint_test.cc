// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/checkpoint.h"

#include <signal.h>
#include <sys/resource.h>

#include <map>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include "core/files.h"
#include "support.h"
#include "train/run_directory.h"

namespace elixir::train {
namespace {

using program::DType;
using test::content_of;
using test::error_of;
using test::TemporaryDirectory;

namespace fs = std::filesystem;

/// A training state in a map.
class FakeTraining {
 public:
  explicit FakeTraining(double value, std::int64_t elements = 1000) {
    for (const char* name : {"w", "b", "running"}) {
      values_[name] = at::full({elements}, value, at::TensorOptions().dtype(at::kFloat));
    }
    for (const char* name : {"w/moment1", "w/moment2"}) {
      values_[name] = at::full({elements}, value / 2, at::TensorOptions().dtype(at::kFloat));
    }
    for (auto& each : values_) {
      at::Tensor& slot = each.second;
      StateTensor tensor{each.first,
                         DType::kFloat32,
                         {elements},
                         [&slot] { return slot; },
                         [&slot](const at::Tensor& value_read) { slot.copy_(value_read); }};
      const bool optimizer = each.first.find('/') != std::string::npos;
      (optimizer ? state_.optimizer : state_.model).push_back(std::move(tensor));
    }
  }
  [[nodiscard]] const TrainingState& state() const { return state_; }
  [[nodiscard]] bool operator==(const FakeTraining& other) const {
    for (const auto& each : values_) {
      if (!at::equal(each.second, other.values_.at(each.first))) return false;
    }
    return true;
  }

 private:
  std::map<std::string, at::Tensor> values_;
  TrainingState state_;
};

CheckpointInfo info_of(std::int64_t step) {
  CheckpointInfo info;
  info.step = step;
  info.program_fingerprint = "abc";
  info.device = "cpu";
  info.cpu_threads = 2;
  info.seed = 42;
  info.learning_rate = {LearningRate::Schedule::kCosine, 0.1, 3, 100};
  info.data_format = "bytes";
  info.rows_per_step = 8;
  return info;
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(directory)) {
    names.push_back(each.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string write(const std::string& directory, std::int64_t step, double value, int keep = 5) {
  const FakeTraining training(value);
  return write_checkpoint(directory, info_of(step), training.state(), keep, Json::object());
}

void flip_byte(const std::string& path, std::int64_t at) {
  std::string bytes = content_of(path);
  bytes[static_cast<std::size_t>(at < 0 ? static_cast<std::int64_t>(bytes.size()) + at : at)] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Checkpoint, GivesBackStateAndPosition) {
  const TemporaryDirectory directory;
  const std::string path = write(directory.file("c"), 12, 1.5);
  const auto found = newest_checkpoint(directory.file("c"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->path, path);
  EXPECT_EQ(found->info.step, 12);
  EXPECT_EQ(found->info.seed, 42U);
  EXPECT_EQ(found->info.cpu_threads, 2);
  EXPECT_EQ(found->info.program_fingerprint, "abc");
  EXPECT_EQ(found->info.learning_rate.at(50), info_of(12).learning_rate.at(50));
  EXPECT_EQ(found->info.rows_per_step, 8);
  EXPECT_TRUE(found->rejected.empty());
  const FakeTraining restored(0);
  restore_checkpoint(*found, restored.state());
  EXPECT_TRUE(restored == FakeTraining(1.5));
}

TEST(Checkpoint, KeepsTheNewestAndRemovesTheRest) {
  const TemporaryDirectory directory;
  for (int step = 1; step <= 12; ++step) write(directory.path(), step, step, 2);
  EXPECT_EQ(names_in(directory.path()),
            (std::vector<std::string>{"step-0000000011", "step-0000000012"}));
}

TEST(Checkpoint, NoneIsNotAnError) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(newest_checkpoint(directory.path()).has_value());
  EXPECT_FALSE(newest_checkpoint(directory.file("absent")).has_value());
}

TEST(Checkpoint, EveryDamagedFileFallsBackToTheOlderOne) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{60}, std::int64_t{-2}}) {
      const TemporaryDirectory directory;
      write(directory.path(), 1, 1);
      const std::string newest = write(directory.path(), 2, 2);
      flip_byte(newest + "/" + file, at);
      const auto found = newest_checkpoint(directory.path());
      ASSERT_TRUE(found.has_value());
      EXPECT_EQ(found->info.step, 1) << file << " " << at;
      ASSERT_EQ(found->rejected.size(), 1U);
      EXPECT_NE(found->rejected[0].find("step-0000000002"), std::string::npos);
    }
  }
}

TEST(Checkpoint, ThreadsThatNoMachineHasAreRefused) {
  for (const std::int64_t threads :
       {std::int64_t{0}, std::int64_t{1} << 27, (std::int64_t{1} << 32) + 1}) {
    const TemporaryDirectory directory;
    const std::string state = write(directory.path(), 1, 1) + "/state.json";
    Json document = Json::parse(content_of(state));
    document["cpu_threads"] = threads;
    document.erase("digest");
    document["digest"] = sha256_hex(dump(document));
    std::ofstream(state) << dump(document);
    const ErrorInfo error =
        error_of([&] { static_cast<void>(newest_checkpoint(directory.path())); });
    EXPECT_EQ(error.code, ErrorCode::kBadCheckpoint);
    ASSERT_FALSE(error.notes.empty());
    EXPECT_NE(error.notes[0].find("threads"), std::string::npos) << error.notes[0];
  }
}

TEST(Checkpoint, MissingAndCutFilesFallBackToo) {
  const TemporaryDirectory directory;
  write(directory.path(), 1, 1);
  fs::remove(write(directory.path(), 2, 2) + "/optimizer.safetensors");
  const std::string cut = write(directory.path(), 3, 3) + "/model.safetensors";
  fs::resize_file(cut, fs::file_size(cut) - 1);
  fs::create_directory(directory.file("step-0000000004"));
  const auto found = newest_checkpoint(directory.path());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->info.step, 1);
  EXPECT_EQ(found->rejected.size(), 3U);
}

TEST(Checkpoint, OnlyDamagedOnesIsAnErrorThatListsThem) {
  const TemporaryDirectory directory;
  flip_byte(write(directory.path(), 1, 1) + "/model.safetensors", -1);
  const ErrorInfo info = error_of([&] { (void)newest_checkpoint(directory.path()); });
  EXPECT_EQ(info.code, ErrorCode::kBadCheckpoint);
  EXPECT_EQ(info.notes.size(), 1U);
}

TEST(Checkpoint, ADamagedOneOfTheSameStepIsReplaced) {
  const TemporaryDirectory directory;
  flip_byte(write(directory.path(), 2, 2) + "/model.safetensors", -1);
  write(directory.path(), 2, 7);
  const auto found = newest_checkpoint(directory.path());
  const FakeTraining restored(0);
  restore_checkpoint(*found, restored.state());
  EXPECT_TRUE(restored == FakeTraining(7));
}

TEST(Checkpoint, TensorsOfAnotherModelAreRefused) {
  const TemporaryDirectory directory;
  write(directory.path(), 1, 1);
  const FakeTraining other(0, 999);
  const auto found = newest_checkpoint(directory.path());
  EXPECT_EQ(error_of([&] { restore_checkpoint(*found, other.state()); }).code,
            ErrorCode::kBadCheckpoint);
  const FakeTraining same(0);
  TrainingState fewer = same.state();
  fewer.model.pop_back();
  EXPECT_EQ(error_of([&] { restore_checkpoint(*found, fewer); }).code, ErrorCode::kBadCheckpoint);
}

TEST(Checkpoint, LeftoversOfAKilledProcessAreRemoved) {
  const TemporaryDirectory directory;
  write(directory.path(), 1, 1);
  fs::create_directory(directory.file(".unfinished-step-0000000002"));
  std::ofstream(directory.file(".unfinished-step-0000000002/model.safetensors")) << "half";
  fs::create_directory(directory.file(".removed-step-0000000000"));
  remove_leftovers(directory.path());
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"step-0000000001"});
}

TEST(Checkpoint, WithoutRoomTheOlderOneStaysAndNothingPartialIsLeft) {
  const TemporaryDirectory directory;
  write(directory.path(), 1, 1);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 6000;  // the model's 12,000 bytes do not fit
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const ErrorInfo info = error_of([&] { write(directory.path(), 2, 2, 1); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(info.code, ErrorCode::kDiskFull);
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"step-0000000001"});
  EXPECT_EQ(newest_checkpoint(directory.path())->info.step, 1);
}

TEST(Checkpoint, FailingReadsLeaveNothingPartial) {
  const TemporaryDirectory directory;
  const FakeTraining training(1);
  TrainingState state = training.state();
  state.optimizer[0].read = []() -> at::Tensor {
    throw Error(ErrorCode::kDeviceFailure, "the device is gone");
  };
  EXPECT_EQ(error_of([&] {
              write_checkpoint(directory.path(), info_of(1), state, 2, Json::object());
            }).code,
            ErrorCode::kDeviceFailure);
  EXPECT_TRUE(names_in(directory.path()).empty());
}

TEST(RunDirectory, MetricsAreAppendedAndCutBackToAStep) {
  const TemporaryDirectory directory;
  RunDirectory run = RunDirectory::create(directory.file("run"), Overwrite::kRefuse);
  run.write("config.json", "{}\n");
  for (int step = 1; step <= 5; ++step) run.append_metrics({{"step", step}, {"loss", 0.5}});
  std::ofstream(run.file("metrics.jsonl"), std::ios::app) << R"({"step": 6, "lo)";
  RunDirectory again = RunDirectory::open(directory.file("run"));
  again.cut_metrics(3);
  again.append_metrics({{"step", 4}, {"loss", 0.25}});
  EXPECT_EQ(content_of(again.file("metrics.jsonl")),
            "{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"loss\":0.5}\n{\"step\":3,\"loss\":0.5}\n"
            "{\"step\":4,\"loss\":0.25}\n");
}

TEST(RunDirectory, ParentsAreMade) {
  const TemporaryDirectory directory;
  for (const char* name : {"runs/first", "a/b/../c/d/", "e/./f"}) {
    const std::string path = directory.file(name);
    RunDirectory::check(path, Overwrite::kRefuse);
    EXPECT_FALSE(fs::exists(fs::path(path).parent_path())) << "checking writes nothing";
    (void)RunDirectory::create(path, Overwrite::kRefuse);
    EXPECT_TRUE(fs::is_directory(path)) << name;
  }
  const std::string below_a_file = directory.write("file", "x") + "/run";
  EXPECT_EQ(error_of([&] { RunDirectory::check(below_a_file, Overwrite::kRefuse); }).code,
            ErrorCode::kOutputUnwritable);
}

TEST(RunDirectory, ExistingRunsAreRefusedWithoutForce) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("run");
  fs::create_directory(path);
  RunDirectory::check(path, Overwrite::kRefuse);  // empty: fine
  std::ofstream(path + "/metrics.jsonl") << "old\n";
  EXPECT_EQ(error_of([&] { (void)RunDirectory::create(path, Overwrite::kRefuse); }).code,
            ErrorCode::kOutputExists);
  (void)RunDirectory::create(path, Overwrite::kAllow);
  EXPECT_FALSE(fs::exists(path + "/metrics.jsonl"));
  const std::string file = directory.write("file", "x");
  EXPECT_EQ(error_of([&] { RunDirectory::check(file, Overwrite::kAllow); }).code,
            ErrorCode::kOutputExists);
}

TEST(RunDirectory, WhatAKillLeftDoesNotCountAndGoes) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("run");
  fs::create_directory(path);
  std::ofstream(path + "/config.json.tmp-123-0") << "half";
  RunDirectory::check(path, Overwrite::kRefuse);
  RunDirectory run = RunDirectory::create(path, Overwrite::kRefuse);
  EXPECT_TRUE(fs::is_empty(path));
  run.write("config.json", "{}");
  std::ofstream(path + "/summary.json.tmp-77-3") << "half";
  std::ofstream(path + "/summary.json.tmp-mine") << "not ours";
  (void)RunDirectory::open(path);
  EXPECT_EQ(names_in(path), (std::vector<std::string>{"config.json", "summary.json.tmp-mine"}));
}

TEST(RunDirectory, AMissingParentIsUnwritable) {
  EXPECT_EQ(error_of([] { RunDirectory::check("/nonexistent/run", Overwrite::kRefuse); }).code,
            ErrorCode::kOutputUnwritable);
  const TemporaryDirectory directory;
  RunDirectory::check(directory.file("run/"), Overwrite::kRefuse);
  EXPECT_EQ(error_of([&] { (void)RunDirectory::open(directory.path()); }).code,
            ErrorCode::kFileNotFound);
}

}  // namespace
}  // namespace elixir::train
