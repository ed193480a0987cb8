// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/trace/pickle_writer.h"

#include <bit>
#include <limits>

#include "core/error.h"
#include "core/utf8.h"

namespace elixir::report {
namespace {

// Opcodes from Python's pickletools.
constexpr char kProtocol = '\x80', kStop = '.', kMark = '(';
constexpr char kEmptyList = ']', kAppends = 'e', kEmptyDict = '}', kSetItems = 'u';
constexpr char kNone = 'N', kTrue = '\x88', kFalse = '\x89';
constexpr char kByte = 'K', kTwoBytes = 'M', kFourBytes = 'J', kLong = '\x8a', kDouble = 'G';
constexpr char kUnicode = 'X';
constexpr char kPut = 'q', kLongPut = 'r', kGet = 'h', kLongGet = 'j';

/// Maximum number of values between a mark and the opcode that collects them, as in Python's
/// pickler. Otherwise a reader that passes them as call arguments could run out of stack.
constexpr std::int64_t kBatch = 1000;
constexpr std::size_t kPendingBytes = 65536;
constexpr std::uint32_t kByteNames = 256;

}  // namespace

PickleWriter::PickleWriter(const Sink& sink) : sink_(sink) {
  opcode(kProtocol);
  opcode('\x02');
}

void PickleWriter::flush() {
  sink_(pending_);
  pending_.clear();
}

void PickleWriter::little_endian(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) pending_ += static_cast<char>(value >> (8 * i) & 0xff);
}

/// A batch begins right before its first value, not after the last batch. Until then the last value
/// is on top of the stack, where `remember` needs it.
void PickleWriter::begin_value() {
  if (pending_.size() >= kPendingBytes) flush();
  if (open_.empty()) {
    require(!has_value_, "a pickle has one value");
    has_value_ = true;
    return;
  }
  Container& container = open_.back();
  if (container.values % (container.dict ? 2 * kBatch : kBatch) == 0) {
    if (container.values > 0) opcode(container.dict ? kSetItems : kAppends);
    opcode(kMark);
  }
  ++container.values;
}

void PickleWriter::begin_list() {
  begin_value();
  opcode(kEmptyList);
  open_.push_back({});
}

void PickleWriter::begin_dict() {
  begin_value();
  opcode(kEmptyDict);
  open_.push_back({.dict = true});
}

void PickleWriter::end_container(bool dict) {
  require(!open_.empty() && open_.back().dict == dict, "a pickle's containers are not nested");
  const std::int64_t values = open_.back().values;
  require(!dict || values % 2 == 0, "a key without a value");
  if (values > 0) opcode(dict ? kSetItems : kAppends);
  open_.pop_back();
}

void PickleWriter::end_list() {
  end_container(false);
}

void PickleWriter::end_dict() {
  end_container(true);
}

void PickleWriter::none() {
  begin_value();
  opcode(kNone);
}

void PickleWriter::boolean(bool value) {
  begin_value();
  opcode(value ? kTrue : kFalse);
}

void PickleWriter::integer(std::int64_t value) {
  begin_value();
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0 && value <= 0xff) {
    opcode(kByte);
    little_endian(bits, 1);
  } else if (value >= 0 && value <= 0xffff) {
    opcode(kTwoBytes);
    little_endian(bits, 2);
  } else if (value >= std::numeric_limits<std::int32_t>::min() &&
             value <= std::numeric_limits<std::int32_t>::max()) {
    opcode(kFourBytes);
    little_endian(bits, 4);
  } else {
    opcode(kLong);
    pending_ += '\x08';
    little_endian(bits, 8);
  }
}

void PickleWriter::real(double value) {
  begin_value();
  opcode(kDouble);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int i = 7; i >= 0; --i) pending_ += static_cast<char>(bits >> (8 * i) & 0xff);
}

void PickleWriter::text(std::string_view value) {
  std::string written = well_formed_utf8(value);
  if (const auto found = strings_.find(written); found != strings_.end()) {
    again(found->second);
    return;
  }
  require(written.size() <= std::numeric_limits<std::uint32_t>::max(), "a text of 4 GiB");
  begin_value();
  opcode(kUnicode);
  little_endian(written.size(), 4);
  pending_ += written;
  strings_.emplace(std::move(written), remember());
}

std::uint32_t PickleWriter::remember() {
  const std::uint32_t name = names_++;
  opcode(name < kByteNames ? kPut : kLongPut);
  little_endian(name, name < kByteNames ? 1 : 4);
  return name;
}

void PickleWriter::again(std::uint32_t name) {
  require(name < names_, "a value that nobody remembered");
  begin_value();
  opcode(name < kByteNames ? kGet : kLongGet);
  little_endian(name, name < kByteNames ? 1 : 4);
}

void PickleWriter::finish() {
  require(open_.empty() && has_value_ && !finished_, "a pickle ends after its one value");
  opcode(kStop);
  finished_ = true;
  flush();
}

}  // namespace elixir::report
