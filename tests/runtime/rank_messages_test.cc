// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Frames between ranks, what is in them, and what is refused. Without LibTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ranks/connection.h"
#include "runtime/ranks/launcher_store.h"
#include "runtime/ranks/messages.h"
#include "runtime/ranks/wire.h"

namespace elixir::runtime {
namespace {

using testing::HasSubstr;

/// All frames in `bytes`, which come one at a time.
std::vector<Frame> frames_in(FrameReader& reader, const std::string& bytes) {
  std::vector<Frame> frames;
  for (const char byte : bytes) {
    if (reader.wanted() == 0) break;
    reader.take({&byte, 1});
    while (auto frame = reader.next()) frames.push_back(std::move(*frame));
  }
  return frames;
}

TEST(Frames, ComeOutAsTheyWentIn) {
  FrameReader reader;
  reader.expect({MessageType::kHost, MessageType::kReady});
  const auto frames =
      frames_in(reader, encoded(MessageType::kHost, "gpu08") + encoded(MessageType::kReady, ""));
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].payload, "gpu08");
  EXPECT_EQ(frames[1].type, MessageType::kReady);
  EXPECT_FALSE(reader.bad());
}

TEST(Frames, NoByteBehindTheFrameUnderWayIsWanted) {
  FrameReader reader;
  reader.expect({MessageType::kHost});
  const std::string bytes = encoded(MessageType::kHost, "gpu08");
  reader.take(bytes.substr(0, reader.wanted()));
  EXPECT_EQ(reader.wanted(), 5U);
  reader.take("gpu08");
  EXPECT_EQ(reader.wanted(), 0U) << "there is a frame to take";
}

TEST(Frames, WhatNoRankSendsIsBadFromItsHeadOn) {
  const std::string good = encoded(MessageType::kHost, "x");
  std::string other_version = good, other_magic = good, no_type = good, unknown_type = good;
  other_version[2] = 2;
  other_magic[0] = 'G';
  no_type[3] = 0;
  unknown_type[3] = kMessageTypes;
  const std::string unexpected = encoded(MessageType::kGo, "");
  const std::string too_long = encoded_head(MessageType::kHost, most_bytes(MessageType::kHost) + 1);
  const std::string four_gigabytes = encoded_head(MessageType::kHost, 0xFFFFFFFFU);
  for (const std::string& bytes :
       {other_version, other_magic, no_type, unknown_type, unexpected, too_long, four_gigabytes}) {
    FrameReader reader;
    reader.expect({MessageType::kHost});
    EXPECT_TRUE(frames_in(reader, bytes).empty());
    EXPECT_TRUE(reader.bad());
    EXPECT_EQ(reader.wanted(), 0U);
  }
}

TEST(Frames, EveryTypeHasALimit) {
  for (int type = 1; type < kMessageTypes; ++type) {
    const std::size_t most = most_bytes(static_cast<MessageType>(type));
    EXPECT_LE(most, std::size_t{64} << 20) << type;
    EXPECT_FALSE(decoded_head(encoded_head(static_cast<MessageType>(type), most + 1))) << type;
    EXPECT_TRUE(decoded_head(encoded_head(static_cast<MessageType>(type), most))) << type;
  }
  EXPECT_THROW(static_cast<void>(encoded(MessageType::kGo, "x")), Error);
}

TEST(Texts, HaveNothingThatATerminalObeys) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc\x7f"), "a?[2Jb?c?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "?2J")
      << "a control character of two bytes";
  EXPECT_EQ(printable("grün"), "grün");
  EXPECT_EQ(printable("\xff"), "\xef\xbf\xbd");
}

/// Of each kind one, with its decoder.
struct Sample {
  std::string payload;
  std::function<bool(std::string_view)> decodes;
};
std::vector<Sample> samples() {
  Hello hello;
  hello.channel = Channel::kSigns;
  hello.rank = 2;
  hello.to = 1;
  hello.world = 3;
  hello.attempt = "7";
  ErrorInfo failure;
  failure.code = ErrorCode::kRanksDiffer;
  failure.message = "rank 1 is another";
  failure.help = {"install the same"};
  RankPosition position;
  position.step = 12;
  position.task = 45;
  position.kind = static_cast<std::int32_t>(schedule::TaskKind::kReduce);
  const Place place{"gpu08", "10.0.0.1", 29500};
  return {
      {encode(hello), [](auto bytes) { return decode_hello(bytes).has_value(); }},
      {encode(Challenge{}), [](auto bytes) { return decode_challenge(bytes).has_value(); }},
      {encode(Entry{"Elixir 1", place}),
       [](auto bytes) { return decode_entry(bytes).has_value(); }},
      {encode(std::vector<Place>{place, place}),
       [](auto bytes) { return decode_table(bytes, 2).has_value(); }},
      {encode(failure), [](auto bytes) { return decode_failure(bytes).has_value(); }},
      {encode(position), [](auto bytes) { return decode_position(bytes).has_value(); }},
      {encode(RankLoss{1, "it has ended"}),
       [](auto bytes) { return decode_loss(bytes, 2).has_value(); }},
      {encode_text("gpu08"), [](auto bytes) { return decode_text(bytes).has_value(); }},
  };
}

TEST(Messages, AreReadWholeOrNotAtAll) {
  for (const Sample& sample : samples()) {
    EXPECT_TRUE(sample.decodes(sample.payload));
    EXPECT_FALSE(sample.decodes(sample.payload + "x"));
    for (std::size_t bytes = 0; bytes < sample.payload.size(); ++bytes) {
      EXPECT_FALSE(sample.decodes(sample.payload.substr(0, bytes))) << bytes;
    }
  }
}

TEST(Messages, CarryWhatWasPutIn) {
  const auto failure = decode_failure(samples()[4].payload);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, ErrorCode::kRanksDiffer);
  EXPECT_EQ(failure->message, "rank 1 is another");
  EXPECT_THAT(failure->help, testing::ElementsAre("install the same"));
  const auto position = decode_position(samples()[5].payload);
  ASSERT_TRUE(position);
  EXPECT_EQ(text_of(*position), "in step 12, task 45 (reduce)");
  const auto table = decode_table(samples()[3].payload, 2);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->at(1).address, "10.0.0.1");
  EXPECT_EQ(table->at(1).port, 29500);
}

TEST(Messages, RefuseIndicesBeyondTheRanks) {
  for (const int rank : {-5, -1, 2, 1'000'000'000, std::numeric_limits<int>::min()}) {
    EXPECT_FALSE(decode_loss(encode(RankLoss{rank, "bye"}), 2)) << rank;
  }
  for (const auto& [rank, to, world] : std::vector<std::array<int, 3>>{
           {0, 0, 2}, {1, 1, 2}, {1, 2, 3}, {2, 0, 2}, {1, -1, 2}, {1, 0, kMostRanks + 1}}) {
    Hello hello;
    hello.rank = rank;
    hello.to = to;
    hello.world = world;
    hello.channel = Channel::kControl;
    EXPECT_FALSE(decode_hello(encode(hello))) << rank << " " << to << " " << world;
  }
}

TEST(Messages, RefuseAMeetingAtAnotherRankThan0) {
  Hello hello;
  hello.rank = 2;
  hello.world = 3;
  for (hello.to = 0; hello.to < 2; ++hello.to) {
    hello.channel = Channel::kSteps;
    EXPECT_TRUE(decode_hello(encode(hello)));
    hello.channel = Channel::kMeeting;
    EXPECT_EQ(decode_hello(encode(hello)).has_value(), hello.to == 0);
  }
}

TEST(Messages, RefuseUnknownValues) {
  ErrorInfo failure;
  failure.code = static_cast<ErrorCode>(999);
  EXPECT_FALSE(decode_failure(encode(failure)));
  RankPosition position;
  for (const int kind : {-1, 200, 256, 1 << 20}) {
    position.kind = kind;
    EXPECT_FALSE(decode_position(encode(position))) << kind;
  }
  position.kind = 0;
  position.running_ms = -1;
  EXPECT_FALSE(decode_position(encode(position)));
  for (const int port : {-1, 0, 65536}) {
    EXPECT_FALSE(decode_entry(encode(Entry{"", {"", "", port}}))) << port;
  }
  std::string hello = samples()[0].payload;
  hello[0] = kChannels;
  EXPECT_FALSE(decode_hello(hello));
}

TEST(Messages, CutTextsThatAreTooLong) {
  const auto text = decode_text(encode_text(std::string(100'000, 'x')));
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), 4096U);
  ErrorInfo failure;
  failure.message = std::string(100'000, 'x');
  failure.help.assign(100, failure.message);
  EXPECT_LE(encode(failure).size(), most_bytes(MessageType::kFailure));
  EXPECT_TRUE(decode_failure(encode(failure)));
}

TEST(LauncherStore, EndpointsAreReadStrictly) {
  const auto endpoint = endpoint_of(text_of(Endpoint{"10.0.0.1", 29500}));
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->host, "10.0.0.1");
  EXPECT_EQ(endpoint->port, 29500);
  for (const char* text : {"", " ", "a", " 5", "a 0", "a 65536", "a 5x", "a -1", "a 5 6"}) {
    EXPECT_FALSE(endpoint_of(text)) << text;
  }
  EXPECT_FALSE(endpoint_of(std::string(1 << 20, 'a') + " 5"));
}

class Connected : public testing::Test {
 protected:
  void SetUp() override {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    raw = pair[0];
    connection = Connection(Socket(pair[1]), {MessageType::kHost});
  }
  void write(const std::string& bytes) const {
    ASSERT_EQ(::send(raw, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] std::string read() const {
    std::string bytes(4096, '\0');
    const ssize_t count = ::recv(raw, bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }
  int raw = -1;
  Connection connection;
};

TEST_F(Connected, WhatFollowsTheLastFrameIsLeftInTheSocket) {
  write(encoded(MessageType::kHost, "gpu08") + "bulk data");
  EXPECT_EQ(connection.receive()->payload, "gpu08");
  const Socket socket = connection.release();
  std::array<char, 16> rest{};
  EXPECT_EQ(::recv(socket.get(), rest.data(), rest.size(), 0), 9);
  EXPECT_STREQ(rest.data(), "bulk data");
}

TEST_F(Connected, JunkEndsItAndIsNotRead) {
  write(std::string(4000, 'x'));
  EXPECT_FALSE(connection.receive());
  EXPECT_TRUE(connection.ended());
  EXPECT_EQ(connection.why_ended(), kNoRankSends);
}

TEST_F(Connected, SealedFramesAreTakenOnceAndUnchanged) {
  const Digest key = digest_of("secret", Purpose::kSession, "x");
  Connection other(Socket(raw), {MessageType::kHost});
  other.seal(key, /*made_it=*/true);
  connection.seal(key, /*made_it=*/false);
  other.send(MessageType::kHost, "one");
  other.send(MessageType::kHost, "two");
  EXPECT_EQ(connection.receive()->payload, "one");
  EXPECT_EQ(connection.receive()->payload, "two");
  connection.send(MessageType::kHost, "three");
  EXPECT_EQ(other.receive()->payload, "three");
}

TEST_F(Connected, SealedFramesThatAreChangedRepeatedOrSentBackEndIt) {
  const Digest key = digest_of("secret", Purpose::kSession, "x");
  const auto sealed_frame = [&](bool made_it, const std::string& text) {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    const Socket end(pair[0]);
    Connection sender(Socket(pair[1]), {});
    sender.seal(key, made_it);
    sender.send(MessageType::kHost, text);
    std::string bytes(4096, '\0');
    bytes.resize(static_cast<std::size_t>(::recv(end.get(), bytes.data(), bytes.size(), 0)));
    return bytes;
  };
  const std::string good = sealed_frame(true, "gpu08");
  std::string changed = good;
  changed[FrameHead::kBytes] ^= 1;
  const std::string sent_back = sealed_frame(false, "gpu08");
  const std::string unsealed = encoded(MessageType::kHost, std::string(40, 'x'));
  for (const std::string& bytes : {changed, sent_back, unsealed, good + good}) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    const Socket end(pair[0]);
    Connection reader(Socket(pair[1]), {MessageType::kHost});
    reader.seal(key, /*made_it=*/false);
    ASSERT_EQ(::send(end.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    int taken = 0;
    while (reader.receive()) ++taken;
    EXPECT_EQ(taken, bytes.size() == 2 * good.size() ? 1 : 0);
    EXPECT_EQ(reader.why_ended(), kNoRankSends);
  }
}

TEST(Digests, DependOnKeyPurposeAndData) {
  const Digest digest = digest_of("key", Purpose::kListener, "data");
  EXPECT_EQ(digest, digest_of("key", Purpose::kListener, "data"));
  EXPECT_NE(digest, digest_of("kez", Purpose::kListener, "data"));
  EXPECT_NE(digest, digest_of("key", Purpose::kConnector, "data"));
  EXPECT_NE(digest, digest_of("key", Purpose::kListener, "date"));
  EXPECT_NE(digest, digest_of("", Purpose::kListener, "data"));
  EXPECT_NE(fresh_nonce(), fresh_nonce());
}

}  // namespace
}  // namespace elixir::runtime
