// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/heartbeat.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <utility>

namespace elixir::runtime {
namespace {

constexpr std::chrono::milliseconds kBetweenBeats{100};

}  // namespace

Heartbeat::Heartbeat(std::vector<int> sockets, std::chrono::milliseconds patience)
    : sockets_(std::move(sockets)),
      patience_(patience),
      heard_(sockets_.size(), Clock::now()),
      thread_([this] { run(); }) {}

Heartbeat::~Heartbeat() {
  ends_ = true;
  thread_.join();
  for (const int socket : sockets_) {
    if (socket >= 0) ::close(socket);
  }
}

std::optional<int> Heartbeat::silent() const {
  const int rank = silent_;
  return rank < 0 ? std::nullopt : std::optional<int>(rank);
}

std::optional<int> Heartbeat::ended() const {
  const int rank = ended_;
  return rank < 0 ? std::nullopt : std::optional<int>(rank);
}

void Heartbeat::run() {
  while (!ends_) {
    send_and_listen();
    std::this_thread::sleep_for(kBetweenBeats);
  }
}

void Heartbeat::send_and_listen() {
  const Clock::time_point now = Clock::now();
  int silent = -1;
  for (std::size_t rank = 0; rank < sockets_.size(); ++rank) {
    if (sockets_[rank] < 0) continue;
    const char beat = 1;
    // A full buffer or a rank that is gone: nobody listens there.
    static_cast<void>(::send(sockets_[rank], &beat, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
    // If this process was stopped itself, what came meanwhile waits here: first all of it.
    std::array<char, 256> beats{};
    ssize_t received = 0;
    while ((received = ::recv(sockets_[rank], beats.data(), beats.size(), MSG_DONTWAIT)) > 0) {
      heard_[rank] = now;
    }
    if (received == 0 && ended_ < 0) ended_ = static_cast<int>(rank);
    if (silent < 0 && now - heard_[rank] > patience_) silent = static_cast<int>(rank);
  }
  silent_ = silent;
}

}  // namespace elixir::runtime
