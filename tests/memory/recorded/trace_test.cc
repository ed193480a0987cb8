// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/recorded/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "small_trace.h"

namespace elixir::memory {
namespace {

using testing::HasSubstr;

ErrorInfo error_in_trace(const std::string& text) {
  try {
    static_cast<void>(read_recorded_trace(text, "step.trace"));
  } catch (const Error& error) {
    return error.info();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

TEST(RecordedTrace, IsReadLineByLine) {
  const RecordedTrace trace = read_recorded_trace(kTrace, "step.trace");
  EXPECT_EQ(trace.device_bytes, 1_GiB);
  EXPECT_EQ(trace.allowed_bytes, 100_MiB);
  ASSERT_EQ(trace.events.size(), 7U);
  EXPECT_EQ(trace.events[0].device.kind, DeviceEvent::Kind::kAllocate);
  EXPECT_EQ(trace.events[0].device.address, 0x5000000U);
  EXPECT_EQ(trace.events[0].line, 8);
  EXPECT_EQ(trace.events[2].bytes, 600);
  EXPECT_EQ(trace.events[4].stream, 1);
  EXPECT_EQ(trace.events[5].kind, RecordedEvent::Kind::kFree);
  EXPECT_EQ(trace.events[5].allocation, 0);
  ASSERT_EQ(trace.final_segments->size(), 2U);
  EXPECT_EQ(trace.final_segments->at(1).blocks.at(1).state, BlockState::kAllocated);
}

TEST(RecordedTrace, IsWrittenAsItIsRead) {
  const std::string text =
      "elixir-allocator-trace 1\n"
      "config expandable_segments:True\n"
      "device 8000000000\n"
      "capacity 7000000000\n"
      "allowed none\n"
      "m+ 2097152 0 @0\n"
      "a 8 @0\n"
      "a 8 3 @200\n"
      "q 2\n"
      "f 1\n"
      "c 2\n"
      "e\n"
      "m- 2097152 0 @0\n"
      "oom 9000000000 2\n"
      "p 1024 2097152 0 0\n"
      "g @0 0 small+ 512a 512q 2096128f\n";
  EXPECT_EQ(write_recorded_trace(read_recorded_trace(text, "x")), text);
}

TEST(RecordedTrace, NamesTheLineOfAMistake) {
  const struct {
    std::string text;
    const char* message;
    int line;
  } kCases[] = {
      {"", "not an allocator trace", 0},
      {"elixir-allocator-trace 2\n", "not an allocator trace", 1},
      {"elixir-allocator-trace 1\ndevice 5\n", "lacks its `config` line", 2},
      {"elixir-allocator-trace 1\nconfig sped:1\n", "unknown allocator option", 2},
      {"elixir-allocator-trace 1\nconfig\ndevice 0\n", "size of a device", 3},
      {"elixir-allocator-trace 1\nconfig\ndevice 9\ncapacity 9\n", "lacks its `allowed` line", 4},
      {std::string(kHeader) + "a\n", "size of an allocation", 6},
      {std::string(kHeader) + "a 0\n", "size of an allocation", 6},
      {std::string(kHeader) + "a 5x\n", "size of an allocation", 6},
      {std::string(kHeader) + "a 5 -1\n", "stream", 6},
      {std::string(kHeader) + "a 5 1 @zz\n", "address", 6},
      {std::string(kHeader) + "a 5 1 @\n", "address", 6},
      {std::string(kHeader) + "a 5 1 @1 7\n", "too much", 6},
      {std::string(kHeader) + "a 5\nf 2\n", "only 1 allocations", 7},
      {std::string(kHeader) + "a 5\nf 0\n", "counted back", 7},
      {std::string(kHeader) + "a 5\nf 1\nf 1\n", "already freed", 8},
      {std::string(kHeader) + "a 5\nc 1\n", "does not wait", 7},
      {std::string(kHeader) + "s+ 2097152 0\n", "address", 6},
      {std::string(kHeader) + "s* 2097152 0 @1\n", "unknown event", 6},
      {std::string(kHeader) + "p 1 2 3\n", "number of bytes", 6},
      {std::string(kHeader) + "g @0 0 tiny 512a\n", "pool", 6},
      {std::string(kHeader) + "g @0 0 small\n", "without blocks", 6},
      {std::string(kHeader) + "g @0 0 small 512x\n", "block", 6},
      {std::string(kHeader) + "g @0 0 small 512f\na 5\n", "after the final segments", 7},
  };
  for (const auto& c : kCases) {
    const ErrorInfo error = error_in_trace(c.text);
    EXPECT_EQ(error.code, ErrorCode::kBadRecordedTrace) << c.text;
    EXPECT_THAT(error.message, HasSubstr(c.message)) << c.text;
    EXPECT_EQ(error.where->file, "step.trace");
    EXPECT_EQ(error.where->line, c.line) << c.text;
  }
}

}  // namespace
}  // namespace elixir::memory
