// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes what comes from other ranks. The first byte of the input says to whom the rest goes: to
// the decoders of payloads, to a connection, or to a gate as what a stranger sends. The gate's own
// port is left to the system, and it serves one connection for each input.
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "fuzz.h"
#include "runtime/ranks/connection.h"
#include "runtime/ranks/gate.h"
#include "runtime/ranks/launcher_store.h"
#include "runtime/ranks/messages.h"

namespace {

using namespace elixir::runtime;

void require_that(bool condition) {
  if (!condition) std::abort();
}

/// What was understood is sane, and comes out again as it went in.
void decode_all(std::string_view payload) {
  constexpr int kWorld = 4;
  if (const auto hello = decode_hello(payload)) {
    require_that(hello->rank > hello->to && hello->rank < hello->world);
    require_that(encode(*hello) == payload);
  }
  static_cast<void>(decode_challenge(payload));
  if (const auto entry = decode_entry(payload)) {
    require_that(entry->place.port > 0 && printable(entry->version) == entry->version);
  }
  if (const auto table = decode_table(payload, kWorld)) require_that(table->size() == kWorld);
  if (const auto failure = decode_failure(payload)) {
    require_that(printable(failure->message) == failure->message);
    static_cast<void>(elixir::exit_code_of(failure->code));
  }
  if (const auto position = decode_position(payload)) {
    require_that(encode(*position) == payload);
    require_that(!text_of(*position).empty());
  }
  if (const auto loss = decode_loss(payload, kWorld)) {
    require_that(loss->rank >= 0 && loss->rank < kWorld);
  }
  if (const auto text = decode_text(payload)) require_that(printable(*text) == *text);
  static_cast<void>(endpoint_of(std::string(payload)));
}

std::pair<Socket, Socket> socket_pair() {
  int pair[2];
  require_that(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
  return {Socket(pair[0]), Socket(pair[1])};
}

void read_frames(std::string_view bytes) {
  auto [end, other] = socket_pair();
  Connection connection(std::move(other),
                        {MessageType::kHost, MessageType::kPosition, MessageType::kTable});
  while (!bytes.empty() && !connection.ended()) {
    const ssize_t sent = ::send(end.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    while (const auto frame = connection.receive()) {
      require_that(frame->payload.size() <= most_bytes(frame->type));
      decode_all(frame->payload);
    }
  }
}

void talk_to_gate(std::string_view bytes) {
  static Listening listening = listen_at("127.0.0.1", 0);
  static const int port = port_of(listening.sockets.front());
  static Gate gate({1, 4, "0", "a secret that nobody guesses"}, std::move(listening.sockets));
  TriedSocket tried = begin_to_connect(addresses_of("127.0.0.1", port).all.front());
  pollfd polled{tried.socket.get(), POLLOUT, 0};
  ::poll(&polled, 1, 1000);
  static_cast<void>(::send(tried.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  for (int turn = 0; turn < 2; ++turn) require_that(gate.wait(soon).empty());
  static_cast<void>(gate.claims_of(1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest = elixir::fuzz::text_of(data + 1, size - 1);
  elixir::fuzz::refuses_or_reads([&] {
    switch (*data % 3) {
      case 0:
        return decode_all(rest);
      case 1:
        return read_frames(rest);
      default:
        return talk_to_gate(rest);
    }
  });
  return 0;
}
