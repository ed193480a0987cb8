// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "process/frames.h"

#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/descriptor.h"
#include "core/error.h"
#include "fakes/error_of.h"

namespace elixir::process {
namespace {

using testing::HasSubstr;
using tests::error_of;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    from = Descriptor(ends[0]);
    to = Descriptor(ends[1]);
  }
  Descriptor from, to;
};

/// A header as it lies in the pipe.
void write_header(const Pipe& pipe, std::uint32_t type, std::uint64_t bytes) {
  std::array<char, 12> header{};
  std::memcpy(header.data(), &type, sizeof type);
  std::memcpy(header.data() + 4, &bytes, sizeof bytes);
  ASSERT_EQ(::write(pipe.to.get(), header.data(), header.size()), 12);
}

TEST(Frames, GoThroughAPipeWhole) {
  Pipe pipe;
  const std::string large(3'000'000, 'x');
  std::thread writer([&] {
    write_frame(pipe.to.get(), 7, "");
    write_frame(pipe.to.get(), 8, large);
    pipe.to.close();
  });
  const auto first = read_header(pipe.from.get());
  ASSERT_TRUE(first);
  EXPECT_EQ(first->type, 7U);
  EXPECT_EQ(read_body(pipe.from.get(), *first, 0), "");
  const auto second = read_header(pipe.from.get());
  ASSERT_TRUE(second);
  EXPECT_EQ(read_body(pipe.from.get(), *second, large.size()), large);
  EXPECT_FALSE(read_header(pipe.from.get())) << "the pipe is closed between two messages";
  writer.join();
}

TEST(Frames, OfMoreThanTheLimitAreRefusedBeforeTheyAreRead) {
  const Pipe pipe;
  write_header(pipe, 1, std::uint64_t{1} << 62);
  const auto header = read_header(pipe.from.get());
  ASSERT_TRUE(header);
  EXPECT_THAT(
      error_of([&] { static_cast<void>(read_body(pipe.from.get(), *header, 100)); }).message,
      HasSubstr("100 are the most"));
}

TEST(Frames, ThatEndTooSoonAreAnError) {
  Pipe pipe;
  write_header(pipe, 1, 10);
  ASSERT_EQ(::write(pipe.to.get(), "abc", 3), 3);
  pipe.to.close();
  const auto header = read_header(pipe.from.get());
  ASSERT_TRUE(header);
  EXPECT_EQ(error_of([&] { static_cast<void>(read_body(pipe.from.get(), *header, 100)); }).code,
            ErrorCode::kIoError);
  Pipe other;
  ASSERT_EQ(::write(other.to.get(), "abc", 3), 3);
  other.to.close();
  EXPECT_EQ(error_of([&] { static_cast<void>(read_header(other.from.get())); }).code,
            ErrorCode::kIoError);
}

TEST(Frames, ThatNobodyReadsAreAnErrorAndNoSignal) {
  Pipe pipe;
  pipe.from.close();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(error_of([&] { write_frame(pipe.to.get(), 1, "text"); }).code, ErrorCode::kIoError);
  }
}

TEST(Frames, IntoMemoryMustHaveItsLength) {
  const Pipe pipe;
  write_frame(pipe.to.get(), 1, "12345");
  const auto header = read_header(pipe.from.get());
  ASSERT_TRUE(header);
  std::array<char, 5> buffer{};
  EXPECT_EQ(error_of([&] { read_body_into(pipe.from.get(), *header, buffer.data(), 4); }).code,
            ErrorCode::kIoError);
  read_body_into(pipe.from.get(), *header, buffer.data(), 5);
  EXPECT_EQ(std::string(buffer.data(), 5), "12345");
}

}  // namespace
}  // namespace elixir::process
