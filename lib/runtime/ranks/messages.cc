// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/messages.h"

#include <algorithm>
#include <utility>

#include "core/error_code.h"

namespace elixir::runtime {
namespace {

constexpr std::size_t kMostAttempt = 64, kMostName = 255, kMostText = 4096;
constexpr std::size_t kMostHelp = 1024, kMostHelps = 4;
constexpr int kPorts = 65536;

template <std::size_t kBytes>
std::array<char, kBytes> array_of(MessageReader& reader) {
  std::array<char, kBytes> bytes{};
  const std::string_view from = reader.fixed(kBytes);
  std::copy(from.begin(), from.end(), bytes.begin());
  return bytes;
}

template <class Value>
std::optional<Value> if_whole(const MessageReader& reader, Value value) {
  return reader.whole() ? std::optional(std::move(value)) : std::nullopt;
}

void put(MessageWriter& writer, const Place& place) {
  writer.text(place.host, kMostName).text(place.address, kMostName).number(place.port);
}

Place read_place(MessageReader& reader) {
  Place place;
  place.host = reader.text(kMostName);
  place.address = reader.text(kMostName);
  place.port = reader.number_in(1, kPorts);
  return place;
}

}  // namespace

std::string encode(const Hello& hello) {
  return MessageWriter()
      .number(static_cast<std::uint8_t>(hello.channel))
      .number(hello.rank)
      .number(hello.to)
      .number(hello.world)
      .text(hello.attempt, kMostAttempt)
      .fixed(view_of(hello.nonce))
      .take();
}

std::optional<Hello> decode_hello(std::string_view payload) {
  MessageReader reader(payload);
  Hello hello;
  const auto channel = reader.number<std::uint8_t>();
  if (channel >= kChannels) reader.wrong();
  hello.channel = static_cast<Channel>(channel);
  hello.rank = reader.number_in(1, kMostRanks);  // rank 0 connects to nobody
  hello.to = reader.number_in(0, hello.rank);    // nor does any to one above it
  if (hello.channel == Channel::kMeeting && hello.to != 0) reader.wrong();
  hello.world = reader.number_in(hello.rank + 1, kMostRanks + 1);
  hello.attempt = reader.bytes(kMostAttempt);
  hello.nonce = array_of<kNonceBytes>(reader);
  return if_whole(reader, std::move(hello));
}

std::string encode(const Challenge& challenge) {
  return MessageWriter().fixed(view_of(challenge.nonce)).fixed(view_of(challenge.proof)).take();
}

std::optional<Challenge> decode_challenge(std::string_view payload) {
  MessageReader reader(payload);
  Challenge challenge;
  challenge.nonce = array_of<kNonceBytes>(reader);
  challenge.proof = array_of<kDigestBytes>(reader);
  return if_whole(reader, challenge);
}

std::string encode(const Entry& entry) {
  MessageWriter writer;
  writer.text(entry.version, kMostName);
  put(writer, entry.place);
  return writer.take();
}

std::optional<Entry> decode_entry(std::string_view payload) {
  MessageReader reader(payload);
  Entry entry;
  entry.version = reader.text(kMostName);
  entry.place = read_place(reader);
  return if_whole(reader, std::move(entry));
}

std::string encode(const std::vector<Place>& table) {
  MessageWriter writer;
  for (const Place& place : table) put(writer, place);
  return writer.take();
}

std::optional<std::vector<Place>> decode_table(std::string_view payload, int world) {
  MessageReader reader(payload);
  std::vector<Place> table;
  // Each takes twelve bytes at least, so a short payload ends this early.
  constexpr std::size_t kLeastBytes = 12;
  if (payload.size() / kLeastBytes < static_cast<std::size_t>(world)) return std::nullopt;
  for (int rank = 0; rank < world; ++rank) table.push_back(read_place(reader));
  return if_whole(reader, std::move(table));
}

std::string encode(const ErrorInfo& failure) {
  MessageWriter writer;
  writer.number(static_cast<std::int32_t>(failure.code)).text(failure.message, kMostText);
  for (const auto* texts : {&failure.notes, &failure.help}) {
    const std::size_t count = std::min(texts->size(), kMostHelps);
    writer.number(static_cast<std::uint8_t>(count));
    for (std::size_t i = 0; i < count; ++i) writer.text((*texts)[i], kMostHelp);
  }
  return writer.take();
}

std::optional<ErrorInfo> decode_failure(std::string_view payload) {
  MessageReader reader(payload);
  ErrorInfo failure;
  const auto code = error_code_of(reader.number<std::int32_t>());
  if (!code) reader.wrong();
  failure.code = code.value_or(ErrorCode::kInternal);
  failure.message = reader.text(kMostText);
  for (auto* texts : {&failure.notes, &failure.help}) {
    const auto count = reader.number<std::uint8_t>();
    if (count > kMostHelps) reader.wrong();
    for (int i = 0; i < count && i < static_cast<int>(kMostHelps); ++i) {
      texts->push_back(reader.text(kMostHelp));
    }
  }
  return if_whole(reader, std::move(failure));
}

std::string encode(const RankPosition& position) {
  return MessageWriter()
      .number(position.step)
      .number(position.tasks_ended)
      .number(position.running_ms)
      .number(position.allowed_ms)
      .number(position.task)
      .number(position.chunk)
      .number(position.kind)
      .number(position.waits)
      .take();
}

std::optional<RankPosition> decode_position(std::string_view payload) {
  MessageReader reader(payload);
  RankPosition position;
  for (std::int64_t* count :
       {&position.step, &position.tasks_ended, &position.running_ms, &position.allowed_ms}) {
    *count = reader.number<std::int64_t>();
    if (*count < 0) reader.wrong();
  }
  constexpr std::int64_t kAny = std::int64_t{1} << 31, kAnyByte = 256;
  position.task = reader.number_in(-1, kAny);
  position.chunk = reader.number_in(-1, kAny);
  position.kind = reader.number_in(0, kAnyByte);
  if (name_of(static_cast<schedule::TaskKind>(position.kind)) == "unknown") reader.wrong();
  position.waits = reader.number_in(0, 2);
  return if_whole(reader, position);
}

std::string encode(const RankLoss& loss) {
  return MessageWriter()
      .number(static_cast<std::int32_t>(loss.rank))
      .text(loss.why, kMostText)
      .take();
}

std::optional<RankLoss> decode_loss(std::string_view payload, int world) {
  MessageReader reader(payload);
  RankLoss loss;
  loss.rank = reader.number_in(0, world);
  loss.why = reader.text(kMostText);
  return if_whole(reader, std::move(loss));
}

std::string encode_text(std::string_view text) {
  return MessageWriter().text(text, kMostText).take();
}

std::optional<std::string> decode_text(std::string_view payload) {
  MessageReader reader(payload);
  std::string text = reader.text(kMostText);
  return if_whole(reader, std::move(text));
}

}  // namespace elixir::runtime
