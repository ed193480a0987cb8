// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/checkpoint.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include "core/files.h"
#include "core/interrupt.h"
#include "train/run/run_directory.h"
#include "train/run/training_state.h"
#include "train/support.h"

namespace elixir::train {
namespace {

using program::DType;
using test::content_of;
using test::error_of;
using test::TemporaryDirectory;

namespace fs = std::filesystem;

const std::string kRun = "0123456789abcdef0123456789abcdef";

/// A training state in a map, on one rank.
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
      StateTensor tensor{each.first, DType::kFloat32, {elements}, [&slot] { return slot; }};
      const bool optimizer = each.first.find('/') != std::string::npos;
      (optimizer ? state_.optimizer : state_.model).push_back(std::move(tensor));
      shards_.push_back({each.first,
                         DType::kFloat32,
                         {elements},
                         {1},
                         {{0, elements}},
                         {0, elements},
                         [&slot] { return slot; },
                         [&slot](const at::Tensor& value_read) { slot.copy_(value_read); }});
    }
  }
  [[nodiscard]] const TrainingState& state() const { return state_; }
  [[nodiscard]] const std::vector<StateShard>& shards() const { return shards_; }
  [[nodiscard]] bool operator==(const FakeTraining& other) const {
    for (const auto& each : values_) {
      if (!at::equal(each.second, other.values_.at(each.first))) return false;
    }
    return true;
  }

 private:
  std::map<std::string, at::Tensor> values_;
  TrainingState state_;
  std::vector<StateShard> shards_;
};

CheckpointInfo info_of(std::int64_t step) {
  CheckpointInfo info;
  info.run_id = kRun;
  info.step = step;
  info.program_fingerprint = "abc";
  info.device = program::DeviceKind::kCpu;
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
  return write_checkpoint(
      directory, info_of(step), whole_tensors(training.state()), keep, Json::object());
}

void flip_byte(const std::string& path, std::int64_t at) {
  std::string bytes = content_of(path);
  bytes[static_cast<std::size_t>(at < 0 ? static_cast<std::int64_t>(bytes.size()) + at : at)] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Checkpoint, GivesBackStateAndPosition) {
  const TemporaryDirectory directory;
  const std::string path = write(directory.file("c"), 12, 1.5);
  const auto found = newest_checkpoint(directory.file("c"), kRun);
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
  restore_checkpoint(found->path, restored.shards());
  EXPECT_TRUE(restored == FakeTraining(1.5));
}

TEST(Checkpoint, KeepsTheNewestAndRemovesTheRest) {
  const TemporaryDirectory directory;
  for (int step = 1; step <= 12; ++step) write(directory.path(), step, step, 2);
  EXPECT_EQ(names_in(directory.path()),
            (std::vector<std::string>{"step-0000000011", "step-0000000012"}));
}

TEST(Checkpoint, CopiesOfOneAreNoCheckpoints) {
  const TemporaryDirectory directory;
  const std::string first = write(directory.path(), 1, 1);
  for (const char* name : {"step-best", "step-0000000001.bak", "step-99", "step-00000000009"}) {
    fs::copy(first, fs::path(directory.path()) / name);
  }
  for (int step = 2; step <= 3; ++step) write(directory.path(), step, step, 1);
  EXPECT_EQ(newest_checkpoint(directory.path(), kRun)->info.step, 3);
  EXPECT_EQ(
      names_in(directory.path()),
      (std::vector<std::string>{
          "step-00000000009", "step-0000000001.bak", "step-0000000003", "step-99", "step-best"}));
}

TEST(Checkpoint, DamagedOnesOfLaterStepsDoNotCount) {
  const TemporaryDirectory directory;
  write(directory.path(), 2, 2);
  flip_byte(write(directory.path(), 4, 4) + "/model.safetensors", -1);
  EXPECT_EQ(newest_checkpoint(directory.path(), kRun)->info.step, 2);
  write(directory.path(), 3, 3, 1);
  EXPECT_EQ(names_in(directory.path()),
            (std::vector<std::string>{"step-0000000003", "step-0000000004"}));
  EXPECT_EQ(newest_checkpoint(directory.path(), kRun)->info.step, 3);
}

TEST(Checkpoint, NoneIsNotAnError) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(newest_checkpoint(directory.path(), kRun).has_value());
  EXPECT_FALSE(newest_checkpoint(directory.file("absent"), kRun).has_value());
}

TEST(Checkpoint, EveryDamagedFileFallsBackToTheOlderOne) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{60}, std::int64_t{-2}}) {
      const TemporaryDirectory directory;
      write(directory.path(), 1, 1);
      const std::string newest = write(directory.path(), 2, 2);
      flip_byte(newest + "/" + file, at);
      const auto found = newest_checkpoint(directory.path(), kRun);
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
        error_of([&] { static_cast<void>(newest_checkpoint(directory.path(), kRun)); });
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
  const auto found = newest_checkpoint(directory.path(), kRun);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->info.step, 1);
  EXPECT_EQ(found->rejected.size(), 3U);
}

TEST(Checkpoint, OnlyDamagedOnesIsAnErrorThatListsThem) {
  const TemporaryDirectory directory;
  flip_byte(write(directory.path(), 1, 1) + "/model.safetensors", -1);
  const ErrorInfo info = error_of([&] { (void)newest_checkpoint(directory.path(), kRun); });
  EXPECT_EQ(info.code, ErrorCode::kBadCheckpoint);
  EXPECT_EQ(info.notes.size(), 1U);
}

TEST(Checkpoint, OfAnotherRunIsRefused) {
  const TemporaryDirectory directory;
  write(directory.path(), 1, 1);
  CheckpointInfo other = info_of(2);
  other.run_id = std::string(32, 'f');
  const FakeTraining training(2);
  write_checkpoint(directory.path(), other, whole_tensors(training.state()), 5, Json::object());
  EXPECT_EQ(error_of([&] { (void)newest_checkpoint(directory.path(), kRun); }).code,
            ErrorCode::kMixedRuns);
}

TEST(Checkpoint, AnInterruptEndsReadingButNotWriting) {
  const TemporaryDirectory directory;
  write(directory.path(), 1, 1);
  const auto found = newest_checkpoint(directory.path(), kRun);
  request_interrupt(SIGINT);
  write(directory.path(), 2, 2);
  EXPECT_THROW((void)newest_checkpoint(directory.path(), kRun), Interrupted);
  const FakeTraining restored(0);
  EXPECT_THROW(restore_checkpoint(found->path, restored.shards()), Interrupted);
  clear_interrupt();
  EXPECT_EQ(newest_checkpoint(directory.path(), kRun)->info.step, 2);
}

TEST(Checkpoint, TellsTheShareThatIsWritten) {
  const TemporaryDirectory directory;
  const FakeTraining training(1);
  std::vector<double> shares;
  const auto told = [&](double share) { shares.push_back(share); };
  write_checkpoint(
      directory.path(), info_of(1), whole_tensors(training.state(), told), 1, Json::object());
  ASSERT_EQ(shares.size(), 5U);  // called before each tensor
  EXPECT_EQ(shares.front(), 0.0);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_NEAR(shares.back(), 0.8, 0.01);
}

TEST(Checkpoint, ADirectoryThatIsAFileIsAnError) {
  const TemporaryDirectory directory;
  const std::string file = directory.write("checkpoints", "x");
  EXPECT_EQ(error_of([&] { (void)newest_checkpoint(file, kRun); }).code,
            ErrorCode::kFileUnreadable);
}

TEST(Checkpoint, WhatItHoldsIsNotAskedForBefore) {
  program::Program program;
  program::Parameter weight;
  weight.name = "w";
  program.parameters = {weight};
  program::Buffer fixed, running;
  fixed.name = "mask";
  running.name = "running";
  running.mutated = true;
  program.buffers = {fixed, running};
  std::vector<std::string> asked;
  const auto source = without_checkpointed(program, [&](const std::string& name) {
    asked.push_back(name);
    return at::full({1}, 1.0);
  });
  for (const char* name : {"w", "running"}) EXPECT_FALSE(source(name).defined()) << name;
  EXPECT_TRUE(source("mask").defined());
  EXPECT_EQ(asked, std::vector<std::string>{"mask"});
}

TEST(Checkpoint, ADamagedOneOfTheSameStepIsReplaced) {
  const TemporaryDirectory directory;
  flip_byte(write(directory.path(), 2, 2) + "/model.safetensors", -1);
  write(directory.path(), 2, 7);
  const auto found = newest_checkpoint(directory.path(), kRun);
  const FakeTraining restored(0);
  restore_checkpoint(found->path, restored.shards());
  EXPECT_TRUE(restored == FakeTraining(7));
}

TEST(Checkpoint, TensorsOfAnotherModelAreRefused) {
  const TemporaryDirectory directory;
  write(directory.path(), 1, 1);
  const FakeTraining other(0, 999);
  const auto found = newest_checkpoint(directory.path(), kRun);
  EXPECT_EQ(error_of([&] { restore_checkpoint(found->path, other.shards()); }).code,
            ErrorCode::kBadCheckpoint);
  const FakeTraining same(0);
  std::vector<StateShard> fewer = same.shards();
  fewer.pop_back();
  EXPECT_EQ(error_of([&] { restore_checkpoint(found->path, fewer); }).code,
            ErrorCode::kBadCheckpoint);
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
  EXPECT_EQ(newest_checkpoint(directory.path(), kRun)->info.step, 1);
}

TEST(Checkpoint, FailingReadsLeaveNothingPartial) {
  const TemporaryDirectory directory;
  const FakeTraining training(1);
  TrainingState state = training.state();
  state.optimizer[0].read = []() -> at::Tensor {
    throw Error(ErrorCode::kDeviceFailure, "the device is gone");
  };
  EXPECT_EQ(error_of([&] {
              write_checkpoint(
                  directory.path(), info_of(1), whole_tensors(state), 2, Json::object());
            }).code,
            ErrorCode::kDeviceFailure);
  EXPECT_TRUE(names_in(directory.path()).empty());
}

void write_config(const RunDirectory& run) {
  run.write("config.json",
            R"({"schema": "elixir.config", "schema_version": "1.0", "meta": {}, "run_id": ")" +
                run.run_id() + "\"}\n");
}

/// Begins a run whose process then ends. Returns its id.
std::string begin_run(const std::string& path) {
  RunDirectory run = RunDirectory::create(path, Overwrite::kRefuse);
  write_config(run);
  for (int step = 1; step <= 5; ++step) run.append_metrics({{"step", step}, {"loss", 0.5}});
  return run.run_id();
}

std::string line(const std::string& run_id, int step, const char* loss) {
  return fmt::format("{{\"run_id\":\"{}\",\"step\":{},\"loss\":{}}}\n", run_id, step, loss);
}

TEST(RunDirectory, MetricsAreAppendedAndCutBackToAStep) {
  const TemporaryDirectory directory;
  const std::string id = begin_run(directory.file("run"));
  std::ofstream(directory.file("run/metrics.jsonl"), std::ios::app) << R"({"step": 6, "lo)";
  RunDirectory again = RunDirectory::open(directory.file("run"));
  EXPECT_EQ(again.run_id(), id);
  again.cut_metrics(2);
  again.append_metrics({{"step", 3}, {"loss", 0.25}});
  EXPECT_EQ(content_of(again.file("metrics.jsonl")),
            line(id, 1, "0.5") + line(id, 2, "0.5") + line(id, 3, "0.25"));
}

TEST(RunDirectory, MetricsOfAnotherRunAreRefusedAndKept) {
  const TemporaryDirectory directory;
  begin_run(directory.file("run"));
  std::ofstream(directory.file("run/metrics.jsonl"), std::ios::app) << line("other", 9, "1");
  const std::string before = content_of(directory.file("run/metrics.jsonl"));
  RunDirectory run = RunDirectory::open(directory.file("run"));
  EXPECT_EQ(error_of([&] { run.cut_metrics(3); }).code, ErrorCode::kMixedRuns);
  EXPECT_EQ(content_of(directory.file("run/metrics.jsonl")), before);
}

TEST(RunDirectory, HasOneOwner) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("run");
  const std::string id = begin_run(path);
  {
    const RunDirectory owner = RunDirectory::open(path);
    std::ofstream(path + "/summary.json.tmp-77-3") << "being written";
    const ErrorInfo info = error_of([&] { (void)RunDirectory::open(path); });
    EXPECT_EQ(info.code, ErrorCode::kRunInUse);
    EXPECT_NE(info.message.find(fmt::format("process {}", ::getpid())), std::string::npos);
    for (const Overwrite overwrite : {Overwrite::kAllow, Overwrite::kRefuse}) {
      EXPECT_EQ(error_of([&] { RunDirectory::check(path, overwrite); }).code, ErrorCode::kRunInUse);
      EXPECT_EQ(error_of([&] { (void)RunDirectory::create(path, overwrite); }).code,
                ErrorCode::kRunInUse);
    }
    EXPECT_TRUE(fs::exists(path + "/summary.json.tmp-77-3"));
    EXPECT_TRUE(fs::exists(path + "/metrics.jsonl"));
  }
  EXPECT_NE(RunDirectory::create(path, Overwrite::kAllow).run_id(), id);
}

TEST(RunDirectory, MissesWhatIsRemovedUnderIt) {
  for (const char* what : {"", "/checkpoints", "/metrics.jsonl"}) {
    const TemporaryDirectory directory;
    RunDirectory run = RunDirectory::create(directory.file("run"), Overwrite::kRefuse);
    run.append_metrics({{"step", 1}, {"loss", 0.5}});
    run.check_present();
    fs::remove_all(directory.file("run") + what);
    EXPECT_EQ(error_of([&] {
                run.append_metrics({{"step", 2}});
              }).code,
              ErrorCode::kIoError)
        << what;
  }
  const TemporaryDirectory directory;
  RunDirectory run = RunDirectory::create(directory.file("run"), Overwrite::kRefuse);
  fs::remove(run.checkpoints());
  directory.write("run/checkpoints", "a plain file");
  EXPECT_EQ(error_of([&] { run.check_present(); }).code, ErrorCode::kIoError);
  fs::rename(directory.file("run"), directory.file("moved"));
  fs::create_directories(directory.file("run/checkpoints"));
  EXPECT_EQ(error_of([&] { run.check_present(); }).code, ErrorCode::kIoError);
}

TEST(RunDirectory, CheckpointsThatAreAPlainFileAreRefused) {
  const TemporaryDirectory directory;
  begin_run(directory.file("run"));
  fs::remove(directory.file("run/checkpoints"));
  directory.write("run/checkpoints", "x");
  EXPECT_EQ(error_of([&] { (void)RunDirectory::open(directory.file("run")); }).code,
            ErrorCode::kOutputUnwritable);
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
  const ErrorInfo info = error_of([&] { (void)RunDirectory::create(path, Overwrite::kRefuse); });
  EXPECT_EQ(info.code, ErrorCode::kOutputExists);
  ASSERT_EQ(info.help.size(), 1U);  // there is no run to continue
  EXPECT_EQ(info.help[0].find("--resume"), std::string::npos);
  (void)RunDirectory::create(path, Overwrite::kAllow);
  EXPECT_FALSE(fs::exists(path + "/metrics.jsonl"));
  const std::string file = directory.write("file", "x");
  EXPECT_EQ(error_of([&] { RunDirectory::check(file, Overwrite::kAllow); }).code,
            ErrorCode::kOutputExists);
}

TEST(RunDirectory, WhatAKillLeftDoesNotCountAndGoes) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("run");
  fs::create_directories(path + "/checkpoints");
  std::ofstream(path + "/config.json.tmp-123-0") << "half";
  std::ofstream(path + "/lock") << "process 123 on here";
  RunDirectory::check(path, Overwrite::kRefuse);
  {
    const RunDirectory run = RunDirectory::create(path, Overwrite::kRefuse);
    EXPECT_EQ(names_in(path), (std::vector<std::string>{"checkpoints", "lock"}));
    write_config(run);
  }
  std::ofstream(path + "/summary.json.tmp-77-3") << "half";
  std::ofstream(path + "/summary.json.tmp-mine") << "not ours";
  (void)RunDirectory::open(path);
  EXPECT_EQ(
      names_in(path),
      (std::vector<std::string>{"checkpoints", "config.json", "lock", "summary.json.tmp-mine"}));
}

TEST(RunDirectory, ARunThatCouldNotBeginLeavesNothing) {
  const TemporaryDirectory directory;
  RunDirectory::create(directory.file("run"), Overwrite::kRefuse).abandon();
  EXPECT_FALSE(fs::exists(directory.file("run")));
}

TEST(RunDirectory, AnEmptyDirectoryIsNoRunToGoOnWith) {
  const TemporaryDirectory directory;
  RunDirectory::check(directory.file("run/"), Overwrite::kRefuse);
  EXPECT_EQ(error_of([&] { (void)RunDirectory::open(directory.path()); }).code,
            ErrorCode::kFileNotFound);
}

}  // namespace
}  // namespace elixir::train
