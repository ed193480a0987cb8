// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/trace/pickle_writer.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "core/error.h"

namespace elixir::report {
namespace {

/// A literal including its zero bytes.
template <std::size_t n>
std::string text_of(const char (&literal)[n]) {
  return std::string(literal, n - 1);
}

class Pickle : public ::testing::Test {
 protected:
  std::string bytes_;
  Sink sink_ = [this](std::string_view piece) { bytes_ += piece; };
  PickleWriter writer_{sink_};
};

// snapshot_test.py compares what Python reads. Here the bytes are compared, by pickletools' rules.
TEST_F(Pickle, WritesTheShortestIntegers) {
  writer_.begin_list();
  for (const std::int64_t value : {0L, 255L, 256L, 65535L, 65536L, -1L, 2147483648L}) {
    writer_.integer(value);
  }
  writer_.end_list();
  writer_.finish();
  const std::string expected = text_of(
      "\x80\x02](K\x00K\xffM\x00\x01M\xff\xffJ\x00\x00\x01\x00J\xff\xff\xff\xff\x8a\x08"
      "\x00\x00\x00\x80\x00\x00\x00\x00"
      "e.");
  EXPECT_EQ(bytes_, expected);
}

TEST_F(Pickle, WritesATextOnce) {
  writer_.begin_dict();
  writer_.text("a");
  writer_.text("a");
  writer_.end_dict();
  writer_.finish();
  EXPECT_EQ(bytes_,
            text_of("\x80\x02}(X\x01\x00\x00\x00"
                    "aq\x00h\x00u."));
}

TEST_F(Pickle, EmptyContainersHaveNoBatch) {
  writer_.begin_list();
  writer_.begin_dict();
  writer_.end_dict();
  writer_.end_list();
  writer_.finish();
  EXPECT_EQ(bytes_, "\x80\x02](}e.");
}

TEST_F(Pickle, RefusesWhatIsNoDocument) {
  EXPECT_THROW(writer_.finish(), Error);
  EXPECT_THROW(writer_.end_list(), Error);
  writer_.begin_dict();
  EXPECT_THROW(writer_.end_list(), Error);
  EXPECT_THROW(writer_.finish(), Error);
  writer_.integer(1);
  EXPECT_THROW(writer_.end_dict(), Error);
  writer_.integer(1);
  writer_.end_dict();
  EXPECT_THROW(writer_.integer(1), Error);
  EXPECT_THROW(writer_.again(3), Error);
  writer_.finish();
  EXPECT_THROW(writer_.finish(), Error);
}

}  // namespace
}  // namespace elixir::report
