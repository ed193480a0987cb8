// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/rank_commands.h"

#include <iterator>
#include <utility>

#include "runtime/ranks/communicator_messages.h"

namespace elixir::train {
namespace {

using runtime::MessageType;

/// A path, or the name of a parameter.
constexpr std::size_t kMostNameBytes = std::size_t{64} << 10;

}  // namespace

std::string encode(const RankCommand& command) {
  return runtime::MessageWriter()
      .number(static_cast<std::int32_t>(command.call))
      .number(command.number)
      .number(command.of)
      .number(command.value)
      .number(command.value_after_skip)
      .number(static_cast<std::int32_t>(command.flag ? 1 : 0))
      .number(static_cast<std::int32_t>(command.part))
      .bytes(command.name, kMostNameBytes)
      .number(command.loss_scale.scale)
      .number(command.loss_scale.good_steps)
      .number(command.loss_scale.overflows)
      .number(command.loss_scale.skipped_steps)
      .take();
}

std::optional<RankCommand> decode_command(std::string_view payload) {
  runtime::MessageReader reader(payload);
  constexpr auto kCalls = static_cast<int>(RankCall::kEnd) + 1;
  constexpr auto kParts = static_cast<int>(std::size(runtime::kStateParts.entries));
  RankCommand command;
  command.call = static_cast<RankCall>(reader.number_in(0, kCalls));
  command.number = reader.number<std::int64_t>();
  command.of = reader.number<std::int64_t>();
  command.value = reader.number<double>();
  command.value_after_skip = reader.number<double>();
  command.flag = reader.number_in(0, 2) != 0;
  command.part = static_cast<runtime::StatePart>(reader.number_in(0, kParts));
  command.name = reader.bytes(kMostNameBytes);
  command.loss_scale.scale = reader.number<double>();
  command.loss_scale.good_steps = reader.number<std::int64_t>();
  command.loss_scale.overflows = reader.number<std::int64_t>();
  command.loss_scale.skipped_steps = reader.number<std::int64_t>();
  return reader.whole() ? std::optional(std::move(command)) : std::nullopt;
}

void end_followers(const runtime::Ranks& ranks) {
  if (ranks.control != nullptr) send({.call = RankCall::kEnd}, *ranks.control);
}

void send(const RankCommand& command, runtime::Communicator& control) {
  static_cast<void>(runtime::broadcast_message(control, 0, MessageType::kCommand, encode(command)));
}

RankCommand receive(runtime::Communicator& control) {
  auto command = decode_command(runtime::broadcast_message(control, 0, MessageType::kCommand));
  if (!command) runtime::throw_no_rank_sends(control, 0);
  return std::move(*command);
}

}  // namespace elixir::train
