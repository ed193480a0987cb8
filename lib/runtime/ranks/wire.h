// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Frames: whatever ranks tell each other comes in one, except the data of a step, whose lengths
// both sides know from the schedule. A frame is a head (magic, version, type, length) and a
// payload. Each type has a limit, which is checked before memory is taken for the payload.
//
// A payload is written by MessageWriter and read by MessageReader, which never reads beyond its
// end. messages.h says what is in a payload.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace elixir::runtime {

inline constexpr int kMostRanks = 100'000;

/// Ranks of another version are not understood: change it with any payload.
inline constexpr std::uint8_t kWireVersion = 1;

enum class MessageType : std::uint8_t {
  // Who is there (gate.h).
  kHello = 1,
  kChallenge,
  kProof,
  kWelcome,
  // Where everybody is (rendezvous.h).
  kEntry,
  kTable,
  kReady,
  kGo,
  kFailure,
  // Signs of life (heartbeat.h).
  kHost,
  kPosition,
  kLoss,
  kReason,
  // Over a communicator (communicator_messages.h).
  kCommand,
  kReport,
  kIdentity,
};
inline constexpr int kMessageTypes = static_cast<int>(MessageType::kIdentity) + 1;

/// The longest payload.
[[nodiscard]] std::size_t most_bytes(MessageType type);

struct FrameHead {
  static constexpr std::size_t kBytes = 8;
  MessageType type = MessageType::kHello;
  std::size_t payload_bytes = 0;
};

struct Frame {
  MessageType type = MessageType::kHello;
  std::string payload;
};

/// As it is sent. The payload must be within its limit.
[[nodiscard]] std::string encoded_head(MessageType type, std::size_t payload_bytes);
[[nodiscard]] std::string encoded(MessageType type, std::string_view payload);
/// nullopt: `bytes` (FrameHead::kBytes of them) are no head of this version with a known type and a
/// length within its limit and `more` bytes.
[[nodiscard]] std::optional<FrameHead> decoded_head(std::string_view bytes, std::size_t more = 0);

/// Puts frames together from the bytes of a stream. It never wants a byte behind the frame under
/// way, because what follows the last frame of a connection may be none.
class FrameReader {
 public:
  /// Frames of other types are bad from the next head on.
  void expect(std::initializer_list<MessageType> types);
  /// Every payload has so many bytes more than its type allows.
  void allow_more(std::size_t bytes) { more_ = bytes; }

  /// How many bytes it takes now; 0: there is a frame to take, or all is bad.
  [[nodiscard]] std::size_t wanted() const;
  /// At most wanted() bytes.
  void take(std::string_view bytes);
  [[nodiscard]] std::optional<Frame> next();
  [[nodiscard]] bool bad() const { return bad_; }

 private:
  std::uint32_t expected_ = 0;  ///< a bit for each type
  std::size_t more_ = 0;
  std::optional<FrameHead> head_;
  std::string bytes_;  ///< of the head, then of the payload
  bool bad_ = false;
};

/// `text` without what a terminal could obey: malformed UTF-8 and control characters are replaced.
[[nodiscard]] std::string printable(std::string_view text);

class MessageWriter {
 public:
  template <class Number>
  MessageWriter& number(Number value) {
    static_assert(std::is_arithmetic_v<Number>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);  // little-endian: x86-64
    return *this;
  }
  /// The first `most` bytes of a text for people.
  MessageWriter& text(std::string_view text, std::size_t most);
  /// All of them; a bug in Elixir when there are more than `most`.
  MessageWriter& bytes(std::string_view bytes, std::size_t most);
  /// Without their number, which both sides know.
  MessageWriter& fixed(std::string_view bytes);
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// After something wrong it returns zeros and empty texts, and whole() is false.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : left_(bytes) {}
  template <class Number>
  Number number() {
    static_assert(std::is_arithmetic_v<Number>);
    Number value{};
    const std::string_view taken = take(sizeof value);
    if (ok_) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  /// Wrong outside of [least, end).
  std::int32_t number_in(std::int32_t least, std::int64_t end);
  /// printable().
  std::string text(std::size_t most);
  std::string bytes(std::size_t most);
  std::string_view fixed(std::size_t bytes) { return take(bytes); }
  void wrong() { ok_ = false; }
  /// Nothing was wrong, and nothing is left.
  [[nodiscard]] bool whole() const { return ok_ && left_.empty(); }

 private:
  std::string_view take(std::size_t bytes);
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace elixir::runtime
