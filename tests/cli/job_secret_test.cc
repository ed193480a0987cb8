// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Where the secret of a job comes from.
#include "tools/train/ranks/job_secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"

namespace elixir::tools {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kLong = "0123456789abcdef";

class JobSecret : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "job-secret-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("TMPDIR");
    fs::remove_all(folder);
  }
  [[nodiscard]] std::string secret(bool on_one_machine = false) const {
    const Variables variables = [this](const std::string& name) -> const char* {
      const auto found = set.find(name);
      return found == set.end() ? nullptr : found->second.c_str();
    };
    return job_secret(variables, on_one_machine);
  }
  void expect_error(ErrorCode code, const char* text, bool on_one_machine = false) const {
    try {
      static_cast<void>(secret(on_one_machine));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.info().code, code);
      EXPECT_THAT(error.info().message, HasSubstr(text));
    }
  }
  std::string file(const std::string& content, mode_t mode) {
    const std::string path = (folder / "secret").string();
    std::ofstream(path) << content;
    ::chmod(path.c_str(), mode);
    set[kJobSecretFileVariable] = path;
    return path;
  }
  [[nodiscard]] std::string of_user() const {
    return (folder / ("elixir-secret-" + std::to_string(::geteuid()))).string();
  }

  fs::path folder;
  std::map<std::string, std::string> set;
};

TEST_F(JobSecret, IsThatOfTheVariable) {
  set[kJobSecretVariable] = kLong;
  EXPECT_EQ(secret(), kLong);
  EXPECT_EQ(secret(/*on_one_machine=*/true), kLong);
}

TEST_F(JobSecret, IsTheContentOfTheFileWithoutTheEndOfItsLine) {
  file(std::string(kLong) + "\r\n", 0600);
  EXPECT_EQ(secret(), kLong);
}

TEST_F(JobSecret, MustNotBeGuessed) {
  set[kJobSecretVariable] = "0123456789abcde";
  expect_error(ErrorCode::kBadFlagValue, "ELIXIR_JOB_SECRET has 15 characters");
  set.clear();
  file("short\n", 0600);
  expect_error(ErrorCode::kBadFlagValue, "has 5 characters");
}

TEST_F(JobSecret, IsInAFileThatOthersCannotRead) {
  for (const mode_t mode : {0640, 0604, 0620}) {
    file(kLong, mode);
    expect_error(ErrorCode::kFileUnreadable, "can be read by others");
  }
  set[kJobSecretFileVariable] = folder.string();
  expect_error(ErrorCode::kFileUnreadable, "is no file");
  set[kJobSecretFileVariable] = (folder / "none").string();
  expect_error(ErrorCode::kFileNotFound, "there is no file");
}

TEST_F(JobSecret, IsGivenOnce) {
  file(kLong, 0600);
  set[kJobSecretVariable] = kLong;
  expect_error(ErrorCode::kBadFlagValue, "are both set");
}

TEST_F(JobSecret, OfSeveralMachinesIsNotMadeUp) {
  EXPECT_EQ(secret(), "");
  EXPECT_FALSE(fs::exists(of_user()));
}

TEST_F(JobSecret, OfOneMachineIsTheSameForAllRanksThatComeAtOnce) {
  std::vector<std::string> secrets(8);
  std::vector<std::thread> ranks;
  for (std::string& each : secrets) {
    ranks.emplace_back([&] { each = secret(/*on_one_machine=*/true); });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(secrets.front().size(), 64U);
  EXPECT_THAT(secrets, testing::Each(secrets.front()));
  struct stat status {};
  ASSERT_EQ(::stat(of_user().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1)
      << "nothing else is left";
}

TEST_F(JobSecret, OfOneMachineThatOthersCanReadIsRefused) {
  std::ofstream(of_user()) << std::string(64, 'x');
  ::chmod(of_user().c_str(), 0644);
  expect_error(ErrorCode::kFileUnreadable, "can be read by others", /*on_one_machine=*/true);
}

}  // namespace
}  // namespace elixir::tools
