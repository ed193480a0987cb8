// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "core/error.h"
#include "fakes/error_of.h"

namespace elixir {
namespace {

namespace stdfs = std::filesystem;

using tests::error_of;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Kind = Directory::Kind;

class DirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (stdfs::temp_directory_path() / "elixir-directory-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    stdfs::create_directory(path("in"));
    stdfs::create_directory(path("out"));
    write_file(path("out/mine"), "mine", Overwrite::kRefuse);
  }
  void TearDown() override { stdfs::remove_all(root_); }
  [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }
  [[nodiscard]] Directory in() const { return Directory::open(path("in")); }
  std::string root_;
};

TEST_F(DirectoryTest, WritesReadsListsAndRemoves) {
  const Directory directory = in();
  directory.write("a", "bytes", Overwrite::kRefuse);
  EXPECT_EQ(directory.read("a"), "bytes");
  EXPECT_EQ(directory.kind_of("a"), Kind::kFile);
  EXPECT_EQ(error_of([&] { directory.write("a", "more", Overwrite::kRefuse); }).code,
            ErrorCode::kOutputExists);
  directory.write("a", "more", Overwrite::kAllow);
  EXPECT_EQ(directory.read("a"), "more");
  const Directory below = directory.make("b");
  EXPECT_EQ(below.path(), path("in/b"));
  below.make("c").write("d", "", Overwrite::kRefuse);
  EXPECT_THAT(directory.names(), UnorderedElementsAre("a", "b"));
  EXPECT_EQ(directory.kind_of("b"), Kind::kDirectory);
  EXPECT_TRUE(directory.find("b").has_value());
  directory.remove("b");
  directory.remove("b");
  directory.remove("a");
  EXPECT_THAT(directory.names(), IsEmpty());
  EXPECT_FALSE(directory.find("b").has_value());
}

TEST_F(DirectoryTest, StaysTheDirectoryThatWasOpened) {
  const Directory directory = in();
  EXPECT_TRUE(directory.is_in_place());
  stdfs::rename(path("in"), path("moved"));
  EXPECT_FALSE(directory.is_in_place());
  stdfs::create_directory_symlink(path("out"), path("in"));
  EXPECT_FALSE(directory.is_in_place());
  directory.write("a", "x", Overwrite::kRefuse);
  EXPECT_TRUE(stdfs::exists(path("moved/a")));
  EXPECT_FALSE(stdfs::exists(path("out/a")));
}

TEST_F(DirectoryTest, FollowsNoLink) {
  stdfs::create_symlink(path("out/mine"), path("in/file"));
  stdfs::create_directory_symlink(path("out"), path("in/directory"));
  const Directory directory = in();
  EXPECT_EQ(directory.kind_of("file"), Kind::kOther);
  for (const auto& reads : {std::function<void()>([&] { (void)directory.read("file"); }),
                            std::function<void()>([&] { (void)directory.find("directory"); })}) {
    const ErrorInfo error = error_of(reads);
    EXPECT_EQ(error.code, ErrorCode::kFileUnreadable);
    EXPECT_THAT(error.message, HasSubstr("a symbolic link, which is not followed"));
  }
  for (const auto& writes : {std::function<void()>([&] { (void)directory.make("directory"); }),
                             std::function<void()>([&] {
                               (void)directory.open_to_change("file", O_WRONLY | O_APPEND);
                             })}) {
    EXPECT_EQ(error_of(writes).code, ErrorCode::kOutputUnwritable);
  }
  directory.write("file", "new", Overwrite::kAllow);  // replaces the link
  EXPECT_EQ(directory.kind_of("file"), Kind::kFile);
  stdfs::create_directory(path("in/tree"));
  stdfs::create_directory_symlink(path("out"), path("in/tree/directory"));
  directory.remove("tree");
  directory.remove("directory");
  EXPECT_THAT(directory.names(), ElementsAre("file"));
  EXPECT_EQ(read_file(path("out/mine")), "mine");
}

TEST_F(DirectoryTest, ReadsOnlyRegularFiles) {
  ASSERT_EQ(::mkfifo(path("in/pipe").c_str(), 0600), 0);
  const Directory directory = in();
  directory.make("directory");
  for (const char* name : {"pipe", "directory"}) {
    EXPECT_EQ(error_of([&] { (void)directory.read(name); }).code, ErrorCode::kFileUnreadable);
    EXPECT_EQ(error_of([&] { (void)directory.open_to_change(name, O_RDWR); }).code,
              ErrorCode::kOutputUnwritable);
  }
  EXPECT_EQ(error_of([&] { (void)directory.read("none"); }).code, ErrorCode::kFileNotFound);
  directory.write("large", "12345", Overwrite::kRefuse);
  EXPECT_EQ(error_of([&] { (void)directory.read("large", 4); }).code, ErrorCode::kFileUnreadable);
  EXPECT_EQ(error_of([&] { (void)Directory::open(path("none")); }).code, ErrorCode::kFileNotFound);
}

TEST_F(DirectoryTest, AFileWithAnotherNameIsNotWrittenInPlace) {
  stdfs::create_hard_link(path("out/mine"), path("in/file"));
  const Directory directory = in();
  EXPECT_EQ(error_of([&] { (void)directory.open_to_change("file", O_WRONLY); }).code,
            ErrorCode::kOutputUnwritable);
  directory.write("file", "new", Overwrite::kAllow);
  EXPECT_EQ(directory.read("file"), "new");
  EXPECT_EQ(read_file(path("out/mine")), "mine");
}

TEST_F(DirectoryTest, WhatCannotBeReadIsAnErrorOfTheDisk) {
  const Descriptor memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(memory.is_open());
  // Nothing is at address 0.
  EXPECT_EQ(error_of([&] { (void)read_all(memory, "memory", 1 << 20); }).code, ErrorCode::kIoError);
}

TEST_F(DirectoryTest, NamesThatLeaveTheDirectoryAreBugs) {
  const Directory directory = in();
  for (const std::string name : {"", ".", "..", "../out/mine", "a/b"}) {
    EXPECT_EQ(error_of([&] { (void)directory.read(name); }).code, ErrorCode::kInternal) << name;
    EXPECT_EQ(error_of([&] { directory.remove(name); }).code, ErrorCode::kInternal) << name;
    EXPECT_EQ(error_of([&] { directory.rename("a", name); }).code, ErrorCode::kInternal) << name;
  }
}

TEST_F(DirectoryTest, ATreeThatIsTooDeepIsRefused) {
  const Directory directory = in();
  std::string deep = path("in/tree");
  for (int level = 0; level < 300; ++level) deep += "/d";
  stdfs::create_directories(deep);
  const ErrorInfo error = error_of([&] { directory.remove("tree"); });
  EXPECT_EQ(error.code, ErrorCode::kOutputUnwritable);
  EXPECT_THAT(error.message, HasSubstr("too deep"));
}

TEST_F(DirectoryTest, AbandonedTemporaryFilesOfAFileAreRemoved) {
  const Directory directory = in();
  for (const char* name : {"a.tmp-12-3", "a.tmp-mine", "b.tmp-12-3", "a"}) {
    directory.write(name, "", Overwrite::kRefuse);
  }
  directory.remove_abandoned("a");
  EXPECT_THAT(directory.names(), UnorderedElementsAre("a.tmp-mine", "b.tmp-12-3", "a"));
}

TEST_F(DirectoryTest, RenamingDoesNotReplace) {
  const Directory directory = in();
  directory.make("a");
  directory.make("b").write("c", "", Overwrite::kRefuse);
  EXPECT_EQ(error_of([&] { directory.rename("a", "b"); }).code, ErrorCode::kOutputExists);
  EXPECT_EQ(error_of([&] { directory.rename("none", "d"); }).code, ErrorCode::kOutputUnwritable);
  directory.rename("a", "d");
  EXPECT_THAT(directory.names(), UnorderedElementsAre("b", "d"));
}

TEST_F(DirectoryTest, DirectoriesAboveAreMade) {
  make_directories(path("a/b/../c/d/"));
  EXPECT_TRUE(stdfs::is_directory(path("a/c/d")));
  EXPECT_TRUE(stdfs::is_directory(path("a/b")));
  make_directories(path("a/c/d"));
  EXPECT_EQ(error_of([&] { make_directories(path("out/mine/x")); }).code,
            ErrorCode::kOutputUnwritable);
}

}  // namespace
}  // namespace elixir
