// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What is in the frames by which ranks meet and show that they live. A decoder returns nullopt for
// whatever no rank sends: an index beyond the ranks, an unknown value of an enum, bytes that are
// missing or left over. Texts are printable and bounded.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "runtime/ranks/proof.h"
#include "runtime/ranks/task_recorder.h"
#include "runtime/ranks/wire.h"

namespace elixir::runtime {

/// What a connection between two ranks is for.
enum class Channel : std::uint8_t { kMeeting, kSteps, kControl, kSigns };
inline constexpr int kChannels = 4;

/// The first frame of a connection, from the rank that has made it.
struct Hello {
  Channel channel = Channel::kMeeting;
  int rank = 0, to = 0, world = 0;
  std::string attempt;
  Nonce nonce{};
};
[[nodiscard]] std::string encode(const Hello& hello);
[[nodiscard]] std::optional<Hello> decode_hello(std::string_view payload);

/// The answer, with the proof of the rank that is connected to.
struct Challenge {
  Nonce nonce{};
  Digest proof{};
};
[[nodiscard]] std::string encode(const Challenge& challenge);
[[nodiscard]] std::optional<Challenge> decode_challenge(std::string_view payload);

/// Where other ranks reach a rank.
struct Place {
  std::string host, address;
  int port = 0;
};
/// What a rank tells rank 0 of itself.
struct Entry {
  std::string version;
  Place place;
};
[[nodiscard]] std::string encode(const Entry& entry);
[[nodiscard]] std::optional<Entry> decode_entry(std::string_view payload);

/// All of them, by rank.
[[nodiscard]] std::string encode(const std::vector<Place>& table);
[[nodiscard]] std::optional<std::vector<Place>> decode_table(std::string_view payload, int world);

/// Code, message, notes and help.
[[nodiscard]] std::string encode(const ErrorInfo& failure);
[[nodiscard]] std::optional<ErrorInfo> decode_failure(std::string_view payload);

[[nodiscard]] std::string encode(const RankPosition& position);
[[nodiscard]] std::optional<RankPosition> decode_position(std::string_view payload);

/// A rank that another one has lost.
struct RankLoss {
  int rank = -1;
  std::string why;
};
[[nodiscard]] std::string encode(const RankLoss& loss);
[[nodiscard]] std::optional<RankLoss> decode_loss(std::string_view payload, int world);

/// One text for people: a host's name, or why a rank will end.
[[nodiscard]] std::string encode_text(std::string_view text);
[[nodiscard]] std::optional<std::string> decode_text(std::string_view payload);

}  // namespace elixir::runtime
