// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "fakes/error_of.h"

namespace elixir {
namespace {

using tests::error_of;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "elixir-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    ::chmod(directory_.c_str(), 0700);
    std::filesystem::remove_all(directory_);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }
  [[nodiscard]] std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string directory_;
};

TEST_F(FilesTest, WritesAndReadsBack) {
  const std::string bytes("a\0b\n", 4);
  write_file(path("x"), bytes, Overwrite::kRefuse);
  EXPECT_EQ(read_file(path("x")), bytes);
  EXPECT_THAT(listing(), ElementsAre("x"));
}

TEST_F(FilesTest, RefusesToOverwriteUnlessAllowed) {
  write_file(path("x"), "old", Overwrite::kRefuse);
  const ErrorInfo error = error_of([&] { write_file(path("x"), "new", Overwrite::kRefuse); });
  EXPECT_EQ(error.code, ErrorCode::kOutputExists);
  EXPECT_THAT(error.help.at(0), HasSubstr("--force"));
  EXPECT_EQ(error_of([&] { check_output(path("x"), Overwrite::kRefuse); }).code,
            ErrorCode::kOutputExists);
  EXPECT_EQ(read_file(path("x")), "old");
  write_file(path("x"), "new", Overwrite::kAllow);
  EXPECT_EQ(read_file(path("x")), "new");
  EXPECT_THAT(listing(), ElementsAre("x"));
}

TEST_F(FilesTest, DoesNotReplaceAFileMadeWhileItWasWriting) {
  const ErrorInfo error = error_of([&] {
    write_file_streamed(path("x"), Overwrite::kRefuse, [&](const Sink& sink) {
      sink("mine");
      write_file(path("x"), "theirs", Overwrite::kRefuse);
    });
  });
  EXPECT_EQ(error.code, ErrorCode::kOutputExists);
  EXPECT_EQ(read_file(path("x")), "theirs");
  EXPECT_THAT(listing(), ElementsAre("x"));
}

TEST_F(FilesTest, KeepsTheOldFileWhenTheProducerThrows) {
  write_file(path("x"), "old", Overwrite::kRefuse);
  EXPECT_THROW(write_file_streamed(path("x"),
                                   Overwrite::kAllow,
                                   [](const Sink& sink) {
                                     sink(std::string(1 << 20, 'n'));
                                     throw std::runtime_error("stop");
                                   }),
               std::runtime_error);
  EXPECT_EQ(read_file(path("x")), "old");
  EXPECT_THAT(listing(), ElementsAre("x"));
}

TEST_F(FilesTest, StreamsMoreThanOneBuffer) {
  std::string expected;
  write_file_streamed(path("x"), Overwrite::kRefuse, [&](const Sink& sink) {
    for (int i = 0; i < 100'000; ++i) {
      const std::string piece = std::to_string(i) + "\n";
      sink(piece);
      expected += piece;
    }
    const std::string large(600'000, 'z');
    sink(large);
    expected += large;
  });
  EXPECT_EQ(sha256_hex(read_file(path("x"))), sha256_hex(expected));
}

TEST_F(FilesTest, ReportsAMissingDirectoryWithTheRemedy) {
  const ErrorInfo error = error_of([&] { check_output(path("no/such/x"), Overwrite::kRefuse); });
  EXPECT_EQ(error.code, ErrorCode::kOutputUnwritable);
  EXPECT_THAT(error.help.at(0), HasSubstr("mkdir -p"));
}

TEST_F(FilesTest, ChecksWhetherAFileCanBeMade) {
  EXPECT_EQ(error_of([&] { check_output("/proc/x", Overwrite::kRefuse); }).code,
            ErrorCode::kOutputUnwritable);
  check_output(path("x"), Overwrite::kRefuse);
  EXPECT_THAT(listing(), IsEmpty());
  write_file(path("x"), "old", Overwrite::kRefuse);
  check_output(path("x"), Overwrite::kAllow);
  EXPECT_EQ(read_file(path("x")), "old");
  EXPECT_THAT(listing(), ElementsAre("x"));
}

TEST_F(FilesTest, HelpNamesTheFlagThatNamesTheFile) {
  write_file(path("x"), "old", Overwrite::kRefuse);
  const auto help = [&](std::string_view flag) {
    return error_of([&] { check_output(path("x"), Overwrite::kRefuse, flag); }).help.at(0);
  };
  EXPECT_EQ(help("--html"), "give --force to replace it, or choose another name with --html");
  EXPECT_EQ(help(""), "give --force to replace it");
}

TEST_F(FilesTest, ReportsADirectoryAsOutput) {
  EXPECT_EQ(error_of([&] { write_file(directory_, "x", Overwrite::kAllow); }).code,
            ErrorCode::kOutputUnwritable);
  EXPECT_EQ(error_of([&] { write_file("", "x", Overwrite::kAllow); }).code,
            ErrorCode::kOutputUnwritable);
  EXPECT_EQ(error_of([&] { write_file("/proc/x", "x", Overwrite::kAllow); }).code,
            ErrorCode::kOutputUnwritable);
}

TEST_F(FilesTest, ReportsAnUnwritableDirectory) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ::chmod(directory_.c_str(), 0500);
  EXPECT_EQ(error_of([&] { write_file(path("x"), "x", Overwrite::kRefuse); }).code,
            ErrorCode::kOutputUnwritable);
}

TEST_F(FilesTest, FullDeviceIsDiskFull) {
  const ErrorInfo error = error_of([] { write_file("/dev/full", "x", Overwrite::kRefuse); });
  EXPECT_EQ(error.code, ErrorCode::kDiskFull);
  EXPECT_EQ(exit_code_of(error.code), 4);
}

TEST_F(FilesTest, FullDiskLeavesNothingBehind) {
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit small = before;
  small.rlim_cur = 100'000;
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const ErrorInfo error =
      error_of([&] { write_file(path("x"), std::string(1 << 20, 'x'), Overwrite::kRefuse); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(error.code, ErrorCode::kDiskFull);
  EXPECT_THAT(listing(), IsEmpty());
}

TEST_F(FilesTest, WritesDevicesDirectlyAndNeverReplacesThem) {
  write_file("/dev/null", "x", Overwrite::kRefuse);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(FilesTest, FollowsSymbolicLinksAndKeepsTheMode) {
  write_file(path("real"), "old", Overwrite::kRefuse);
  ::chmod(path("real").c_str(), 0640);
  std::filesystem::create_symlink("real", path("link"));
  write_file(path("link"), "new", Overwrite::kAllow);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("real")), "new");
  struct stat status {};
  ASSERT_EQ(::stat(path("real").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(FilesTest, AbandonRemovesTemporariesInUse) {
  EXPECT_THROW(write_file_streamed(path("x"),
                                   Overwrite::kRefuse,
                                   [&](const Sink&) {
                                     EXPECT_EQ(listing().size(), 1U);
                                     abandon_temporaries();
                                     EXPECT_THAT(listing(), IsEmpty());
                                     throw std::runtime_error("stop");
                                   }),
               std::runtime_error);
}

TEST_F(FilesTest, MissingFileSuggestsNeighbours) {
  write_file(path("plan.json"), "{}", Overwrite::kRefuse);
  const ErrorInfo error = error_of([&] { return read_file(path("plam.json")); });
  EXPECT_EQ(error.code, ErrorCode::kFileNotFound);
  EXPECT_THAT(error.help, ElementsAre(HasSubstr("/plan.json")));
}

TEST_F(FilesTest, ReadsWhatHasNoSizeAndRefusesDirectories) {
  EXPECT_THAT(read_file("/proc/self/status"), HasSubstr("VmRSS"));
  EXPECT_EQ(error_of([&] { return read_file(directory_); }).code, ErrorCode::kFileUnreadable);
}

TEST_F(FilesTest, RefusesDevicesAndPipesWithoutWaiting) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& name : {std::string("/dev/zero"), path("pipe")}) {
    const ErrorInfo error = error_of([&] { return read_file(name); });
    EXPECT_EQ(error.code, ErrorCode::kFileUnreadable);
    EXPECT_THAT(error.message, HasSubstr("no plain file"));
  }
}

TEST_F(FilesTest, RefusesAHoleBeforeItIsRead) {
  write_file(path("hole"), "{", Overwrite::kRefuse);
  std::filesystem::resize_file(path("hole"), std::uint64_t{1} << 40);
  const ErrorInfo error = error_of([&] { return read_file(path("hole")); });
  EXPECT_EQ(error.code, ErrorCode::kFileUnreadable);
  EXPECT_THAT(error.message, HasSubstr("1099511627776 bytes"));
}

}  // namespace
}  // namespace elixir
