// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/communicator_messages.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/error.h"

namespace elixir::runtime {
namespace {

std::size_t length_of(const Communicator& ranks,
                      int rank,
                      MessageType type,
                      std::string_view head) {
  const std::optional<FrameHead> decoded = decoded_head(head);
  if (!decoded || decoded->type != type) throw_no_rank_sends(ranks, rank);
  return decoded->payload_bytes;
}

}  // namespace

void throw_no_rank_sends(const Communicator& ranks, int rank) {
  throw Error(ErrorCode::kRankLost,
              "rank {} lost rank {} of {}: it sends what no rank sends",
              ranks.rank(),
              rank,
              ranks.world());
}

std::string broadcast_message(Communicator& ranks,
                              int root,
                              MessageType type,
                              std::string payload) {
  std::string head(FrameHead::kBytes, '\0');
  if (ranks.rank() == root) {
    require(payload.size() <= most_bytes(type), "a message is longer than its type allows");
    head = encoded_head(type, payload.size());
  }
  ranks.broadcast(root, head.data(), static_cast<std::int64_t>(head.size()));
  payload.resize(length_of(ranks, root, type, head));
  ranks.broadcast(root, payload.data(), static_cast<std::int64_t>(payload.size()));
  return payload;
}

std::vector<std::string> gather_messages(Communicator& ranks, MessageType type, std::string own) {
  require(own.size() <= most_bytes(type), "a message is longer than its type allows");
  const auto world = static_cast<std::size_t>(ranks.world());
  std::string heads(world * FrameHead::kBytes, '\0');
  ranks.all_gather(heads.data(), encoded_head(type, own.size()).data(), FrameHead::kBytes);
  std::vector<std::size_t> lengths;
  for (std::size_t rank = 0; rank < world; ++rank) {
    const auto head = std::string_view(heads).substr(rank * FrameHead::kBytes, FrameHead::kBytes);
    lengths.push_back(length_of(ranks, static_cast<int>(rank), type, head));
  }
  // All as long as the longest.
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  own.resize(longest);
  std::string all(world * longest, '\0');
  ranks.all_gather(all.data(), own.data(), static_cast<std::int64_t>(longest));
  std::vector<std::string> messages;
  for (std::size_t rank = 0; rank < world; ++rank) {
    messages.push_back(all.substr(rank * longest, lengths[rank]));
  }
  return messages;
}

}  // namespace elixir::runtime
