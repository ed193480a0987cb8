// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/checkpoint.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include "core/directory.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "train/run/run_directory.h"
#include "train/run/run_lock.h"
#include "train/run/training_state.h"
#include "train/support.h"

namespace elixir::train {
namespace {

using program::DType;
using test::content_of;
using test::error_of;
using test::TemporaryDirectory;

namespace fs = std::filesystem;

/// The first attempt, one that went on from it, and one that went on from the first one again.
const Attempt kFirst{std::string(kIdLetters, 'a'), std::nullopt};
const Attempt kSecond{std::string(kIdLetters, 'b'), Attempt::Parent{kFirst.id, 2}};
const Attempt kThird{std::string(kIdLetters, 'c'), Attempt::Parent{kFirst.id, 1}};

const RunIdentity kRun{"0123456789abcdef0123456789abcdef", {kFirst}};

/// The directory of checkpoints `path`.
Directory at(const std::string& path) {
  make_directories(path);
  return Directory::open(path);
}

std::optional<FoundCheckpoint> newest_in(const std::string& path, const RunIdentity& run = kRun) {
  return newest_checkpoint(at(path), run);
}

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
  info.run_id = kRun.run_id;
  info.attempt = kFirst;
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

std::string write(const std::string& directory,
                  std::int64_t step,
                  double value,
                  int keep = 5,
                  const Attempt& attempt = kFirst) {
  const FakeTraining training(value);
  CheckpointInfo info = info_of(step);
  info.attempt = attempt;
  return write_checkpoint(
      at(directory), info, whole_tensors(training.state()), keep, Json::object());
}

void flip_byte(const std::string& path, std::int64_t at) {
  std::string bytes = content_of(path);
  bytes[static_cast<std::size_t>(at < 0 ? static_cast<std::int64_t>(bytes.size()) + at : at)] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Checkpoint, GivesBackStateAndPosition) {
  const TemporaryDirectory directory;
  const std::string path = write(directory.file("c"), 12, 1.5);
  const auto found = newest_in(directory.file("c"));
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
  restore_checkpoint(Directory::open(found->path), restored.shards());
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
  EXPECT_EQ(newest_in(directory.path())->info.step, 3);
  EXPECT_EQ(
      names_in(directory.path()),
      (std::vector<std::string>{
          "step-00000000009", "step-0000000001.bak", "step-0000000003", "step-99", "step-best"}));
}

TEST(Checkpoint, DamagedOnesOfLaterStepsDoNotCount) {
  const TemporaryDirectory directory;
  write(directory.path(), 2, 2);
  flip_byte(write(directory.path(), 4, 4) + "/model.safetensors", -1);
  EXPECT_EQ(newest_in(directory.path())->info.step, 2);
  write(directory.path(), 3, 3, 1);
  EXPECT_EQ(names_in(directory.path()),
            (std::vector<std::string>{"step-0000000003", "step-0000000004"}));
  EXPECT_EQ(newest_in(directory.path())->info.step, 3);
}

TEST(Checkpoint, NoneIsNotAnError) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(newest_in(directory.path()).has_value());
}

TEST(Checkpoint, EveryDamagedFileFallsBackToTheOlderOne) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{60}, std::int64_t{-2}}) {
      const TemporaryDirectory directory;
      write(directory.path(), 1, 1);
      const std::string newest = write(directory.path(), 2, 2);
      flip_byte(newest + "/" + file, at);
      const auto found = newest_in(directory.path());
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
    const ErrorInfo error = error_of([&] { static_cast<void>(newest_in(directory.path())); });
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
  const auto found = newest_in(directory.path());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->info.step, 1);
  EXPECT_EQ(found->rejected.size(), 3U);
}

TEST(Checkpoint, OnlyDamagedOnesIsAnErrorThatListsThem) {
  const TemporaryDirectory directory;
  flip_byte(write(directory.path(), 1, 1) + "/model.safetensors", -1);
  const ErrorInfo info = error_of([&] { (void)newest_in(directory.path()); });
  EXPECT_EQ(info.code, ErrorCode::kBadCheckpoint);
  EXPECT_EQ(info.notes.size(), 1U);
}

TEST(Checkpoint, OfAnotherRunIsRefused) {
  const TemporaryDirectory directory;
  write(directory.path(), 1, 1);
  CheckpointInfo other = info_of(2);
  other.run_id = std::string(32, 'f');
  const FakeTraining training(2);
  write_checkpoint(at(directory.path()), other, whole_tensors(training.state()), 5, Json::object());
  EXPECT_EQ(error_of([&] { (void)newest_in(directory.path()); }).code, ErrorCode::kMixedRuns);
}

TEST(Checkpoint, AnInterruptEndsReadingButNotWriting) {
  const TemporaryDirectory directory;
  write(directory.path(), 1, 1);
  const auto found = newest_in(directory.path());
  request_interrupt(SIGINT);
  write(directory.path(), 2, 2);
  EXPECT_THROW((void)newest_in(directory.path()), Interrupted);
  const FakeTraining restored(0);
  EXPECT_THROW(restore_checkpoint(Directory::open(found->path), restored.shards()), Interrupted);
  clear_interrupt();
  EXPECT_EQ(newest_in(directory.path())->info.step, 2);
}

TEST(Checkpoint, TellsTheShareThatIsWritten) {
  const TemporaryDirectory directory;
  const FakeTraining training(1);
  std::vector<double> shares;
  const auto told = [&](double share) { shares.push_back(share); };
  write_checkpoint(
      at(directory.path()), info_of(1), whole_tensors(training.state(), told), 1, Json::object());
  ASSERT_EQ(shares.size(), 5U);  // called before each tensor
  EXPECT_EQ(shares.front(), 0.0);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_NEAR(shares.back(), 0.8, 0.01);
}

TEST(Checkpoint, WhatCannotBeReadIsNotPassedOver) {
  // As a stranger may pack it, and as a disk may lose it.
  const std::vector<std::function<void(const std::string&)>> replacements = {
      [](const std::string& path) { fs::create_symlink("elsewhere", path); },
      [](const std::string& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); },
      [](const std::string& path) { fs::create_directory(path); },
  };
  for (const std::string name : {"", "/state.json", "/model.safetensors"}) {
    for (std::size_t i = 0; i < replacements.size(); ++i) {
      if (name.empty() && i == 2) continue;  // a checkpoint is a directory
      const TemporaryDirectory directory;
      write(directory.path(), 1, 1);
      const std::string path = write(directory.path(), 2, 2) + name;
      fs::remove_all(path);
      replacements[i](path);
      const ErrorInfo error = error_of([&] { (void)newest_in(directory.path()); });
      EXPECT_EQ(error.code, ErrorCode::kFileUnreadable) << path << " " << i;
      EXPECT_EQ(error.where->file, path);
      ASSERT_EQ(error.help.empty(), false);
      EXPECT_NE(error.help.back().find("step-0000000002"), std::string::npos);
    }
  }
}

TEST(Checkpoint, ResumingFollowsOneBranch) {
  const TemporaryDirectory directory;
  for (int step = 1; step <= 3; ++step) write(directory.path(), step, step);
  // The second attempt went on after step 2: the third step is not its own.
  RunIdentity run{kRun.run_id, {kFirst, kSecond}};
  auto found = newest_in(directory.path(), run);
  EXPECT_EQ(found->info.step, 2);
  EXPECT_EQ(
      found->rejected,
      std::vector<std::string>{"checkpoint of an abandoned branch not used: step-0000000003"});
  EXPECT_EQ(set_aside(at(directory.path()), 2, kSecond.id),
            std::vector<std::string>{"step-0000000003.before-bbbbbbbb"});
  write(directory.path(), 4, 4, 5, kSecond);
  EXPECT_EQ(newest_in(directory.path(), run)->info.step, 4);
  // The third one went on from the first step of the first: the second's are of a branch of its
  // own.
  run.attempts.push_back(kThird);
  EXPECT_EQ(newest_in(directory.path(), run)->info.step, 1);
  write(directory.path(), 3, 3, 5, kThird);
  found = newest_in(directory.path(), run);
  EXPECT_EQ(found->info.step, 3);
  EXPECT_EQ(found->rejected.size(), 1U);
  // One whose record of its attempt is not the run's is of a copy of the run that went on
  // elsewhere.
  Attempt copied = kThird;
  copied.parent->step = 2;
  write(directory.path(), 5, 5, 5, copied);
  EXPECT_EQ(newest_in(directory.path(), run)->info.step, 3);
  // A branch without a checkpoint to go on from is no new run.
  run.attempts.push_back({std::string(kIdLetters, 'd'), std::nullopt});
  const ErrorInfo error = error_of([&] { (void)newest_in(directory.path(), run); });
  EXPECT_EQ(error.code, ErrorCode::kBadCheckpoint);
  EXPECT_EQ(error.notes.size(), 5U);
}

TEST(Checkpoint, SetAsideIsNeitherReadNorRemoved) {
  const TemporaryDirectory directory;
  for (int step = 1; step <= 3; ++step) write(directory.path(), step, step);
  EXPECT_EQ(set_aside(at(directory.path()), 1, kSecond.id).size(), 2U);
  EXPECT_EQ(newest_in(directory.path())->info.step, 1);
  for (int step = 2; step <= 4; ++step) write(directory.path(), step, step, 1);
  remove_leftovers(at(directory.path()));
  EXPECT_EQ(names_in(directory.path()),
            (std::vector<std::string>{"step-0000000002.before-bbbbbbbb",
                                      "step-0000000003.before-bbbbbbbb",
                                      "step-0000000004"}));
}

TEST(Checkpoint, AnUnfinishedOneIsItsAttemptsOwn) {
  const TemporaryDirectory directory;
  const Directory checkpoints = at(directory.path());
  const UnfinishedDirectory first(checkpoints, "step-0000000001", kFirst.id);
  {
    // A rank of the first attempt that still writes does not write into it, nor loses its own.
    const UnfinishedDirectory second(checkpoints, "step-0000000001", kSecond.id);
    first.directory().write("rank-1-of-2.safetensors", "late", Overwrite::kRefuse);
    EXPECT_TRUE(second.directory().names().empty());
  }
  EXPECT_EQ(first.directory().names().size(), 1U);
  // When its directory has gone, it writes nowhere.
  remove_leftovers(checkpoints);
  const UnfinishedDirectory second(checkpoints, "step-0000000001", kSecond.id);
  EXPECT_EQ(error_of([&] { first.directory().write("x", "late", Overwrite::kRefuse); }).code,
            ErrorCode::kOutputUnwritable);
  EXPECT_TRUE(second.directory().names().empty());
}

TEST(Checkpoint, WhatItHoldsIsNotAskedForBefore) {
  program::Program program;
  program::Parameter weight;
  weight.name = "w";
  program.parameters = {weight};
  program::Buffer fixed, running;
  fixed.name = "mask";
  fixed.persistent = false;
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

TEST(Checkpoint, OneOfTheSameStepMustBeSetAsideFirst) {
  const TemporaryDirectory directory;
  flip_byte(write(directory.path(), 2, 2) + "/model.safetensors", -1);
  EXPECT_EQ(error_of([&] { write(directory.path(), 2, 7); }).code, ErrorCode::kOutputExists);
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"step-0000000002"});
  set_aside(at(directory.path()), 1, kSecond.id);
  write(directory.path(), 2, 7);
  const auto found = newest_in(directory.path());
  const FakeTraining restored(0);
  restore_checkpoint(Directory::open(found->path), restored.shards());
  EXPECT_TRUE(restored == FakeTraining(7));
}

TEST(Checkpoint, TensorsOfAnotherModelAreRefused) {
  const TemporaryDirectory directory;
  write(directory.path(), 1, 1);
  const FakeTraining other(0, 999);
  const auto found = newest_in(directory.path());
  EXPECT_EQ(
      error_of([&] { restore_checkpoint(Directory::open(found->path), other.shards()); }).code,
      ErrorCode::kBadCheckpoint);
  const FakeTraining same(0);
  std::vector<StateShard> fewer = same.shards();
  fewer.pop_back();
  EXPECT_EQ(error_of([&] { restore_checkpoint(Directory::open(found->path), fewer); }).code,
            ErrorCode::kBadCheckpoint);
}

TEST(Checkpoint, LeftoversOfAKilledProcessAreRemoved) {
  const TemporaryDirectory directory;
  write(directory.path(), 1, 1);
  fs::create_directory(directory.file(".unfinished-step-0000000002"));
  std::ofstream(directory.file(".unfinished-step-0000000002/model.safetensors")) << "half";
  fs::create_directory(directory.file(".removed-step-0000000000"));
  remove_leftovers(at(directory.path()));
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
  EXPECT_EQ(newest_in(directory.path())->info.step, 1);
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
                  at(directory.path()), info_of(1), whole_tensors(state), 2, Json::object());
            }).code,
            ErrorCode::kDeviceFailure);
  EXPECT_TRUE(names_in(directory.path()).empty());
}

void begin(RunDirectory& run, const std::optional<Attempt::Parent>& from = std::nullopt) {
  run.begin(from, "abc", {}, Json::object());
}

/// Begins a run whose process then ends. Returns its id.
std::string begin_run(const std::string& path) {
  RunDirectory run = RunDirectory::create(path, Overwrite::kRefuse);
  begin(run);
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
  const Attempt first = again.identity().attempts.front();
  begin(again, Attempt::Parent{first.id, 2});
  again.append_metrics({{"step", 3}, {"loss", 0.25}});
  EXPECT_EQ(content_of(directory.file("run/metrics.jsonl")),
            line(id, 1, "0.5") + line(id, 2, "0.5") + line(id, 3, "0.25"));
}

TEST(RunDirectory, MetricsOfAnotherRunAreRefusedAndKept) {
  const TemporaryDirectory directory;
  begin_run(directory.file("run"));
  std::ofstream(directory.file("run/metrics.jsonl"), std::ios::app) << line("other", 9, "1");
  const std::string before = content_of(directory.file("run/metrics.jsonl"));
  RunDirectory run = RunDirectory::open(directory.file("run"));
  const std::string config = content_of(directory.file("run/config.json"));
  EXPECT_EQ(error_of([&] { begin(run); }).code, ErrorCode::kMixedRuns);
  EXPECT_EQ(content_of(directory.file("run/metrics.jsonl")), before);
  EXPECT_EQ(content_of(directory.file("run/config.json")), config);
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
  fs::remove(run.checkpoints().path());
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
    RunDirectory run = RunDirectory::create(path, Overwrite::kRefuse);
    EXPECT_EQ(names_in(path), (std::vector<std::string>{"checkpoints", "lock"}));
    begin(run);
  }
  std::ofstream(path + "/summary.json.tmp-77-3") << "half";
  std::ofstream(path + "/summary.json.tmp-mine") << "not ours";
  (void)RunDirectory::open(path);
  EXPECT_EQ(
      names_in(path),
      (std::vector<std::string>{"checkpoints", "config.json", "lock", "summary.json.tmp-mine"}));
}

TEST(RunDirectory, EveryStartIsAnAttempt) {
  const TemporaryDirectory directory;
  begin_run(directory.file("run"));
  const RunIdentity before = read_config(Directory::open(directory.file("run"))).identity;
  ASSERT_EQ(before.attempts.size(), 1U);
  EXPECT_FALSE(before.attempts[0].parent.has_value());
  RunDirectory again = RunDirectory::open(directory.file("run"));
  begin(again, Attempt::Parent{before.attempts[0].id, 4});
  const RunIdentity after = read_config(again.directory()).identity;
  EXPECT_EQ(after.run_id, before.run_id);
  ASSERT_EQ(after.attempts.size(), 2U);
  EXPECT_EQ(after.attempts[0], before.attempts[0]);
  EXPECT_EQ(after.attempts[1], again.attempt());
  EXPECT_NE(after.attempts[1].id, after.attempts[0].id);
  EXPECT_EQ(after.attempts[1].parent, (Attempt::Parent{before.attempts[0].id, 4}));
}

TEST(RunDirectory, AttemptsThatMakeNoTreeAreRefused) {
  const TemporaryDirectory directory;
  begin_run(directory.file("run"));
  const std::string config = directory.file("run/config.json");
  const Json document = Json::parse(content_of(config));
  const Json first = document["attempts"][0];
  const Json of_none = {{"id", "x"}, {"parent", {{"id", "nobody"}, {"step", 1}}}};
  const Json of_itself = {{"id", "x"}, {"parent", {{"id", "x"}, {"step", 1}}}};
  for (const Json& attempts : {Json{first, first}, Json{first, of_none}, Json{first, of_itself}}) {
    Json changed = document;
    changed["attempts"] = attempts;
    std::ofstream(config) << dump(changed);
    EXPECT_EQ(error_of([&] { (void)RunDirectory::open(directory.file("run")); }).code,
              ErrorCode::kJsonBadValue);
  }
}

TEST(RunDirectory, LinksOfAStrangerLeadNowhere) {
  for (const char* name : {"metrics.jsonl", "lock", "config.json", "checkpoints", "lock-ranks"}) {
    for (const bool hard : {false, true}) {
      const TemporaryDirectory directory;
      begin_run(directory.file("run"));
      const bool is_directory = std::string(name) == "checkpoints";
      if (hard && is_directory) continue;
      const std::string mine = directory.file("mine"), link = directory.file("run/") + name;
      if (is_directory) {
        fs::rename(link, mine);
      } else {
        directory.write("mine", std::string(name) == "config.json" ? content_of(link) : "mine\n");
        fs::remove(link);
      }
      if (hard) {
        fs::create_hard_link(mine, link);
      } else {
        fs::create_symlink(mine, link);
      }
      const std::string before = is_directory ? "" : content_of(mine);
      const auto resume = [&] {
        RunDirectory run = RunDirectory::open(directory.file("run"));
        begin(run);
        run.append_metrics({{"step", 1}, {"loss", 0.5}});
        fs::create_directory(run.checkpoints().path() + "/made");
      };
      // What is replaced as a whole is no longer the other's file. What is written in place is
      // refused.
      const bool replaced =
          hard && std::string(name) != "lock" && std::string(name) != "lock-ranks";
      if (replaced) {
        resume();
      } else {
        const ErrorCode code = error_of(resume).code;
        EXPECT_TRUE(code == ErrorCode::kOutputUnwritable || code == ErrorCode::kFileUnreadable)
            << name << " " << hard;
      }
      if (is_directory) {
        EXPECT_TRUE(fs::is_empty(mine));
      } else {
        EXPECT_EQ(content_of(mine), before) << name << " " << hard;
      }
    }
  }
}

TEST(RunDirectory, RanksShareALockThatTheNextAttemptWaitsFor) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("run");
  begin_run(path);
  std::optional<RunDirectory> leader(RunDirectory::open(path));
  const Directory seen = Directory::open(path);
  const RunLock rank = RunLock::follow(seen, leader->attempt().id);
  const RunLock another = RunLock::follow(seen, leader->attempt().id);  // they share it
  // A rank that sees another directory, or comes late, has another attempt before it.
  EXPECT_EQ(error_of([&] { (void)RunLock::follow(seen, draw_id()); }).code,
            ErrorCode::kOutputUnwritable);
  leader.reset();
  request_interrupt(SIGINT);
  EXPECT_THROW((void)RunDirectory::open(path), Interrupted);  // it waits for the ranks
  clear_interrupt();
}

TEST(RunDirectory, IsTakenWhenTheRanksBeforeHaveEnded) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("run");
  begin_run(path);
  std::optional<RunDirectory> leader(RunDirectory::open(path));
  std::optional<RunLock> rank(RunLock::follow(Directory::open(path), leader->attempt().id));
  leader.reset();
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    rank.reset();
  });
  const auto began = std::chrono::steady_clock::now();
  (void)RunDirectory::open(path);
  EXPECT_GT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(50));
  ends.join();
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
