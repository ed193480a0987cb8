// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/ranks/identity.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/json.h"
#include "runtime/ranks/communicator_messages.h"
#include "runtime/ranks/tcp_socket.h"

namespace elixir::tools {
namespace {

constexpr std::size_t kMostItems = 64, kMostName = 64, kShown = 32, kMostValue = 512;

/// What one rank is, for the others.
struct RankDescription {
  std::string host;
  RankIdentity identity;
};

std::string encode(const RankDescription& description) {
  runtime::MessageWriter writer;
  writer.text(description.host, kMostName);
  writer.number(static_cast<std::int32_t>(description.identity.size()));
  for (const auto& item : description.identity) {
    writer.text(item.first, kMostName).text(item.second, kMostValue);
  }
  return writer.take();
}

std::optional<RankDescription> decode(std::string_view payload) {
  runtime::MessageReader reader(payload);
  RankDescription description;
  description.host = reader.text(kMostName);
  const int items = reader.number_in(0, kMostItems);
  for (int i = 0; i < items; ++i) {
    std::string name = reader.text(kMostName);
    description.identity.emplace_back(std::move(name), reader.text(kMostValue));
  }
  return reader.whole() ? std::optional(std::move(description)) : std::nullopt;
}

/// As every rank has it: theirs by rank.
std::vector<RankDescription> gathered(const RankDescription& own, runtime::Communicator& control) {
  std::vector<RankDescription> all;
  for (const std::string& message :
       runtime::gather_messages(control, runtime::MessageType::kIdentity, encode(own))) {
    auto description = decode(message);
    if (!description) runtime::throw_no_rank_sends(control, static_cast<int>(all.size()));
    all.push_back(std::move(*description));
  }
  return all;
}

/// A long value by its beginning and its digest.
std::string bounded(std::string value) {
  if (value.size() <= kMostValue / 2) return value;
  return fmt::format("{}… ({})", value.substr(0, kShown), sha256_hex(value));
}

}  // namespace

RankIdentity identity_of(const TrainOptions& options,
                         const TrainInputs& inputs,
                         const std::vector<InputDigest>& digests) {
  const Json values = to_json(options);
  RankIdentity identity;
  for (const char* key : {"labels",
                          "betas",
                          "eps",
                          "weight_decay",
                          "no_decay",
                          "clip_norm",
                          "loss_scale",
                          "seed",
                          "deterministic",
                          "init",
                          "eval_batches"}) {
    identity.emplace_back(flag_of(key), bounded(values.at(key).dump()));
  }
  identity.emplace_back("program", inputs.run.fingerprint);
  for (const char* input : {"plan", "model file", "data", "held-out data", "weights"}) {
    identity.emplace_back(input, digest_of_input(digests, input));
  }
  return identity;
}

void compare_identities(const RankIdentity& own, const runtime::Ranks& ranks) {
  if (ranks.world() == 1) return;
  const std::vector<RankDescription> all = gathered({runtime::host_name(), own}, *ranks.control);
  const auto value = [&](std::size_t rank, const std::string& name) -> std::string {
    for (const auto& item : all[rank].identity) {
      if (item.first == name) return item.second;
    }
    return "";
  };
  std::vector<std::string> messages, notes;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    std::vector<std::string> differing;
    for (const auto& item : own) {
      const std::string& name = item.first;
      const std::string expected = value(0, name), given = value(rank, name);
      if (given == expected) continue;
      differing.push_back(name);
      notes.push_back(fmt::format("{}: {} on rank 0, {} on rank {}",
                                  name,
                                  expected.substr(0, kShown),
                                  given.substr(0, kShown),
                                  rank));
    }
    if (differing.empty()) continue;
    messages.push_back(fmt::format(
        "rank {} on {} has another {}", rank, all[rank].host, fmt::join(differing, ", ")));
  }
  if (messages.empty()) return;
  Error error(ErrorCode::kRanksDiffer,
              fmt::format("{} than rank 0 on {}", fmt::join(messages, "; "), all.front().host));
  for (std::string& note : notes) error.note(std::move(note));
  error.help("give all ranks the same flags, and the same files on all hosts");
  throw error;
}

}  // namespace elixir::tools
