// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/wire.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/utf8.h"

namespace elixir::runtime {
namespace {

constexpr std::string_view kMagic = "EX";
/// A payload grows with what has come, not with what was announced.
constexpr std::size_t kMostAtOnce = std::size_t{64} << 10;

std::uint32_t bit_of(MessageType type) {
  return std::uint32_t{1} << static_cast<unsigned>(type);
}

}  // namespace

std::size_t most_bytes(MessageType type) {
  switch (type) {
    case MessageType::kHello:
    case MessageType::kChallenge:
    case MessageType::kProof:
      return 256;
    case MessageType::kWelcome:
    case MessageType::kReady:
    case MessageType::kGo:
      return 0;
    case MessageType::kEntry:
    case MessageType::kHost:
      return 1024;
    case MessageType::kTable:
      return std::size_t{64} << 20;  // kMostRanks of them
    case MessageType::kFailure:
      return std::size_t{16} << 10;
    case MessageType::kPosition:
      return 64;
    case MessageType::kLoss:
    case MessageType::kReason:
      return 4200;
    case MessageType::kCommand:
      return std::size_t{72} << 10;
    case MessageType::kReport:
      return std::size_t{9} << 10;
    case MessageType::kIdentity:
      return std::size_t{64} << 10;
  }
  return 0;
}

std::string encoded_head(MessageType type, std::size_t payload_bytes) {
  return MessageWriter()
      .fixed(kMagic)
      .number(kWireVersion)
      .number(static_cast<std::uint8_t>(type))
      .number(static_cast<std::uint32_t>(payload_bytes))
      .take();
}

std::string encoded(MessageType type, std::string_view payload) {
  require(payload.size() <= most_bytes(type), "a message is longer than its type allows");
  std::string bytes = encoded_head(type, payload.size());
  bytes += payload;
  return bytes;
}

std::optional<FrameHead> decoded_head(std::string_view bytes, std::size_t more) {
  MessageReader reader(bytes);
  const bool ours = reader.fixed(kMagic.size()) == kMagic;
  const auto version = reader.number<std::uint8_t>();
  const auto type = reader.number<std::uint8_t>();
  const auto length = reader.number<std::uint32_t>();
  if (!reader.whole() || !ours || version != kWireVersion || type == 0 || type >= kMessageTypes) {
    return std::nullopt;
  }
  const FrameHead head{static_cast<MessageType>(type), length};
  if (head.payload_bytes > most_bytes(head.type) + more) return std::nullopt;
  return head;
}

void FrameReader::expect(std::initializer_list<MessageType> types) {
  expected_ = 0;
  for (const MessageType type : types) expected_ |= bit_of(type);
}

std::size_t FrameReader::wanted() const {
  if (bad_) return 0;
  if (!head_) return FrameHead::kBytes - bytes_.size();
  return std::min(head_->payload_bytes - bytes_.size(), kMostAtOnce);
}

void FrameReader::take(std::string_view bytes) {
  require(bytes.size() <= wanted(), "a frame gets bytes that it does not want");
  bytes_ += bytes;
  if (head_ || bytes_.size() < FrameHead::kBytes) return;
  head_ = decoded_head(bytes_, more_);
  bytes_.clear();
  bad_ = !head_ || (expected_ & bit_of(head_->type)) == 0;
}

std::optional<Frame> FrameReader::next() {
  if (bad_ || !head_ || bytes_.size() < head_->payload_bytes) return std::nullopt;
  Frame frame{head_->type, std::exchange(bytes_, {})};
  head_.reset();
  return frame;
}

std::string printable(std::string_view text) {
  constexpr unsigned kSpace = 0x20, kDelete = 0x7F, kFirstLong = 0x80, kEndOfControls = 0xA0;
  const std::string whole = well_formed_utf8(text);
  std::string shown;
  for (std::string_view left = whole; !left.empty();) {
    const std::size_t bytes = utf8_sequence_bytes(left);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(left[i]); };
    const bool control = bytes == 1
                             ? byte(0) < kSpace || byte(0) == kDelete
                             : byte(0) == 0xC2 && byte(1) >= kFirstLong && byte(1) < kEndOfControls;
    shown += control ? std::string_view("?") : left.substr(0, bytes);
    left.remove_prefix(bytes);
  }
  return shown;
}

MessageWriter& MessageWriter::text(std::string_view text, std::size_t most) {
  return bytes(text.substr(0, most), most);
}

MessageWriter& MessageWriter::bytes(std::string_view bytes, std::size_t most) {
  require(bytes.size() <= most, "a message has a text that is too long");
  return number(static_cast<std::uint32_t>(bytes.size())).fixed(bytes);
}

MessageWriter& MessageWriter::fixed(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

std::int32_t MessageReader::number_in(std::int32_t least, std::int64_t end) {
  const auto value = number<std::int32_t>();
  if (value < least || value >= end) ok_ = false;
  return ok_ ? value : least;
}

std::string MessageReader::text(std::size_t most) {
  return printable(bytes(most));
}

std::string MessageReader::bytes(std::size_t most) {
  const auto count = number<std::uint32_t>();
  if (count > most) ok_ = false;
  return std::string(ok_ ? take(count) : std::string_view());
}

std::string_view MessageReader::take(std::size_t bytes) {
  if (bytes > left_.size()) ok_ = false;
  if (!ok_) return {};
  const std::string_view taken = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return taken;
}

}  // namespace elixir::runtime
