// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/rank_commands.h"

namespace elixir::train {
namespace {

/// All ranks run the same binary.
struct Wire {
  std::int32_t call = 0, part = 0, flag = 0, name_bytes = 0;
  std::int64_t number = 0, of = 0;
  double value = 0;
};

}  // namespace

void end_followers(const runtime::Ranks& ranks) {
  if (ranks.control != nullptr) send({.call = RankCall::kEnd}, *ranks.control);
}

void send(const RankCommand& command, runtime::Communicator& control) {
  Wire wire{.call = static_cast<std::int32_t>(command.call),
            .part = static_cast<std::int32_t>(command.part),
            .flag = command.flag ? 1 : 0,
            .name_bytes = static_cast<std::int32_t>(command.name.size()),
            .number = command.number,
            .of = command.of,
            .value = command.value};
  control.broadcast(0, &wire, sizeof(wire));
  if (command.name.empty()) return;
  std::string name = command.name;
  control.broadcast(0, name.data(), static_cast<std::int64_t>(name.size()));
}

RankCommand receive(runtime::Communicator& control) {
  Wire wire;
  control.broadcast(0, &wire, sizeof(wire));
  RankCommand command{.call = static_cast<RankCall>(wire.call),
                      .number = wire.number,
                      .of = wire.of,
                      .value = wire.value,
                      .flag = wire.flag != 0,
                      .part = static_cast<runtime::StatePart>(wire.part),
                      .name = std::string(static_cast<std::size_t>(wire.name_bytes), '\0')};
  if (!command.name.empty()) control.broadcast(0, command.name.data(), wire.name_bytes);
  return command;
}

}  // namespace elixir::train
