// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/ranks/identity.h"

#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/json.h"
#include "runtime/ranks/tcp_socket.h"

namespace elixir::tools {
namespace {

/// As every rank has it: theirs by rank.
std::vector<Json> gathered(const Json& own, runtime::Communicator& control) {
  std::vector<Json> all;
  for (int rank = 0; rank < control.world(); ++rank) {
    std::string text = rank == control.rank() ? own.dump() : std::string();
    std::int64_t bytes = static_cast<std::int64_t>(text.size());
    control.broadcast(rank, &bytes, sizeof bytes);
    text.resize(static_cast<std::size_t>(bytes));
    control.broadcast(rank, text.data(), bytes);
    all.push_back(Json::parse(text));
  }
  return all;
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
                          "seed",
                          "deterministic",
                          "init",
                          "eval_batches"}) {
    identity.emplace_back(flag_of(key), values.at(key).dump());
  }
  identity.emplace_back("program", inputs.run.fingerprint);
  for (const char* input : {"plan", "model file", "data", "held-out data", "weights"}) {
    identity.emplace_back(input, digest_of_input(digests, input));
  }
  return identity;
}

void compare_identities(const RankIdentity& own, const runtime::Ranks& ranks) {
  if (ranks.world() == 1) return;
  Json json = Json::object();
  for (const auto& item : own) json[item.first] = item.second;
  const std::vector<Json> all =
      gathered({{"host", runtime::host_name()}, {"identity", json}}, *ranks.control);
  const auto value = [&](std::size_t rank, const std::string& name) {
    return all[rank].at("identity").value(name, "");
  };
  std::vector<std::string> messages, notes;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    std::vector<std::string> differing;
    for (const auto& item : own) {
      const std::string& name = item.first;
      const std::string expected = value(0, name), given = value(rank, name);
      if (given == expected) continue;
      differing.push_back(name);
      constexpr std::size_t kShown = 32;
      notes.push_back(fmt::format("{}: {} on rank 0, {} on rank {}",
                                  name,
                                  expected.substr(0, kShown),
                                  given.substr(0, kShown),
                                  rank));
    }
    if (differing.empty()) continue;
    messages.push_back(fmt::format("rank {} on {} has another {}",
                                   rank,
                                   all[rank].value("host", "?"),
                                   fmt::join(differing, ", ")));
  }
  if (messages.empty()) return;
  Error error(
      ErrorCode::kRanksDiffer,
      fmt::format(
          "{} than rank 0 on {}", fmt::join(messages, "; "), all.front().value("host", "?")));
  for (std::string& note : notes) error.note(std::move(note));
  error.help("give all ranks the same flags, and the same files on all hosts");
  throw error;
}

}  // namespace elixir::tools
