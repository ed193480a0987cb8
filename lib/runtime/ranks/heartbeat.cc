// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/heartbeat.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "runtime/ranks/tcp_socket.h"

namespace elixir::runtime {
namespace {

constexpr std::chrono::milliseconds kBetweenBeats{100};
/// How long a rank that has lost another one waits for what the others say of it.
constexpr std::chrono::milliseconds kForWords{300};

// Kinds of messages. Each is its kind, the number of bytes that follow, and these.
constexpr char kHostMessage = 'h';      ///< its name
constexpr char kPositionMessage = 'p';  ///< RankPosition
constexpr char kFailureMessage = 'f';   ///< why the sender will end
constexpr char kLossMessage = 'l';      ///< the rank that the sender has lost (4 bytes), and why
constexpr std::size_t kHeadBytes = 1 + sizeof(std::uint32_t);
constexpr std::size_t kMostBytes = 4096;  ///< of a text

}  // namespace

Heartbeat::Heartbeat(std::vector<int> sockets,
                     const TaskRecorder* recorder,
                     std::chrono::milliseconds patience)
    : recorder_(recorder), patience_(patience), peers_(sockets.size()) {
  const std::string host = host_name();
  for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
    Peer& peer = peers_[rank];
    peer.socket = sockets[rank];
    peer.heard = Clock::now();
    if (peer.socket < 0) {
      own_ = static_cast<int>(rank);
      peer.host = host;
    } else {
      send(peer, kHostMessage, host.data(), host.size());
    }
  }
  thread_ = std::thread([this] { run(); });
}

Heartbeat::~Heartbeat() {
  ends_ = true;
  thread_.join();
  for (const Peer& peer : peers_) {
    if (peer.socket >= 0) ::close(peer.socket);
  }
}

void Heartbeat::run() {
  while (!ends_) {
    const RankPosition own = recorder_ == nullptr ? RankPosition{} : recorder_->position();
    {
      const std::scoped_lock lock(mutex_);
      for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        Peer& peer = peers_[rank];
        if (peer.socket < 0) continue;
        // A beat that waits in a full buffer is enough: nobody listens there.
        if (peer.to_send.empty()) send(peer, kPositionMessage, &own, sizeof own);
        flush(peer);
        listen(static_cast<int>(rank), peer);
      }
    }
    check_overdue();
    std::this_thread::sleep_for(kBetweenBeats);
  }
}

void Heartbeat::when_overdue(std::function<void(const std::string& loss)> action,
                             std::chrono::milliseconds patience) {
  const std::scoped_lock lock(mutex_);
  when_overdue_ = std::move(action);
  overdue_patience_ = patience;
}

void Heartbeat::check_overdue() {
  std::function<void(const std::string& loss)> action;
  std::string loss;
  {
    const std::scoped_lock lock(mutex_);
    const std::optional<Loss>& said = told_ ? told_ : tells_;
    const Clock::time_point said_at = told_ ? told_at_ : tells_at_;
    if (!when_overdue_ || !said || Clock::now() - said_at < overdue_patience_) return;
    action = std::exchange(when_overdue_, nullptr);
    loss = text_of_loss(*said);
  }
  action(loss);
}

void Heartbeat::send(Peer& peer, char kind, const void* data, std::size_t bytes) const {
  bytes = std::min(bytes, kMostBytes);
  const auto size = static_cast<std::uint32_t>(bytes);
  peer.to_send.push_back(kind);
  peer.to_send.append(reinterpret_cast<const char*>(&size), sizeof size);
  peer.to_send.append(static_cast<const char*>(data), bytes);
  flush(peer);
}

void Heartbeat::flush(Peer& peer) const {
  while (!peer.to_send.empty()) {
    const ssize_t sent =
        ::send(peer.socket, peer.to_send.data(), peer.to_send.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) return;
    peer.to_send.erase(0, static_cast<std::size_t>(sent));
  }
}

void Heartbeat::listen(int rank, Peer& peer) {
  std::array<char, 4096> part{};
  ssize_t received = 0;
  // If this process was stopped itself, what came meanwhile waits here: first all of it.
  while ((received = ::recv(peer.socket, part.data(), part.size(), MSG_DONTWAIT)) > 0) {
    peer.received.append(part.data(), static_cast<std::size_t>(received));
    peer.heard = Clock::now();
  }
  // Found here, where all that came has been read.
  peer.silent = Clock::now() - peer.heard > patience_;
  const bool gone = received == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  std::size_t begin = 0;
  while (peer.received.size() - begin >= kHeadBytes) {
    std::uint32_t size = 0;
    std::memcpy(&size, peer.received.data() + begin + 1, sizeof size);
    if (peer.received.size() - begin - kHeadBytes < size) break;
    take_message(rank, peer.received[begin], peer.received.substr(begin + kHeadBytes, size));
    begin += kHeadBytes + size;
  }
  peer.received.erase(0, begin);
  if (gone) peer.ended = true;
}

void Heartbeat::take_message(int rank, char kind, const std::string& data) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  switch (kind) {
    case kHostMessage:
      peer.host = data;
      return;
    case kPositionMessage:
      if (data.size() == sizeof peer.position) {
        std::memcpy(&peer.position, data.data(), sizeof peer.position);
      }
      return;
    case kFailureMessage:
      peer.failure = data;
      return;
    case kLossMessage: {
      std::int32_t lost = -1;
      if (told_ || data.size() < sizeof lost) return;
      std::memcpy(&lost, data.data(), sizeof lost);
      told_at_ = Clock::now();
      told_ = Loss{lost, data.substr(sizeof lost), rank};
      return;
    }
    default:
      return;
  }
}

std::optional<Heartbeat::Loss> Heartbeat::first_loss(bool ended_counts) const {
  if (tells_) return tells_;
  const auto each = [&](auto why_lost) -> std::optional<Loss> {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      if (peers_[rank].socket < 0) continue;
      if (std::optional<std::string> why = why_lost(peers_[rank])) {
        return Loss{static_cast<int>(rank), std::move(*why)};
      }
    }
    return std::nullopt;
  };
  const auto failed = each([](const Peer& peer) -> std::optional<std::string> {
    if (!peer.failure) return std::nullopt;
    return "it failed: " + *peer.failure;
  });
  if (failed) return failed;
  if (told_) return told_;
  if (ended_counts) {
    const auto ended = each([](const Peer& peer) -> std::optional<std::string> {
      if (!peer.ended) return std::nullopt;
      return "it has ended";
    });
    if (ended) return ended;
  }
  // On a GPU, a rank that is ahead cannot enqueue more while it waits for one that is behind.
  std::int64_t fewest = recorder_ == nullptr ? std::numeric_limits<std::int64_t>::max()
                                             : recorder_->position().tasks_ended;
  for (const Peer& peer : peers_) {
    if (peer.socket >= 0) fewest = std::min(fewest, peer.position.tasks_ended);
  }
  return each([&](const Peer& peer) -> std::optional<std::string> {
    if (peer.ended) return std::nullopt;
    if (peer.silent) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience_).count();
      return fmt::format("no sign of life for {} s", seconds);
    }
    if (!peer.position.is_stuck() || peer.position.tasks_ended > fewest) return std::nullopt;
    return fmt::format("no progress for {} s", peer.position.running_ms / 1000);
  });
}

std::optional<std::string> Heartbeat::lost() const {
  const std::scoped_lock lock(mutex_);
  const std::optional<Loss> loss = first_loss(/*ended_counts=*/true);
  return loss ? std::optional(text_of_loss(*loss)) : std::nullopt;
}

std::optional<std::string> Heartbeat::hangs() const {
  const std::scoped_lock lock(mutex_);
  const std::optional<Loss> loss = first_loss(/*ended_counts=*/false);
  return loss ? std::optional(tell(*loss)) : std::nullopt;
}

void Heartbeat::tell_loss() const {
  const std::scoped_lock lock(mutex_);
  if (const std::optional<Loss> loss = first_loss(/*ended_counts=*/true)) {
    static_cast<void>(tell(*loss));
  }
}

std::string Heartbeat::loss_of(int peer, const std::string& why) const {
  const Clock::time_point until = Clock::now() + kForWords;
  const auto is_explained = [&] {
    const std::scoped_lock lock(mutex_);
    return tells_ || told_ || peers_[static_cast<std::size_t>(peer)].failure;
  };
  while (!is_explained() && Clock::now() < until) {
    std::this_thread::sleep_for(kBetweenBeats / 5);
  }
  const std::scoped_lock lock(mutex_);
  if (tells_ || told_ || peers_[static_cast<std::size_t>(peer)].failure) {
    if (const auto loss = first_loss(/*ended_counts=*/true)) return tell(*loss);
  }
  return tell({peer, why});
}

std::string Heartbeat::tell(const Loss& loss) const {
  if (!tells_) {
    tells_ = loss;
    tells_at_ = Clock::now();
    const std::int32_t rank = loss.rank;
    std::string message(reinterpret_cast<const char*>(&rank), sizeof rank);
    message += loss.why;
    for (Peer& peer : peers_) {
      if (peer.socket >= 0) send(peer, kLossMessage, message.data(), message.size());
    }
  }
  return text_of_loss(loss);
}

void Heartbeat::say_failure(const std::string& why) const {
  const std::scoped_lock lock(mutex_);
  for (Peer& peer : peers_) {
    if (peer.socket >= 0) send(peer, kFailureMessage, why.data(), why.size());
  }
}

std::string Heartbeat::text_of_loss(const Loss& loss) const {
  const Peer& peer = peers_[static_cast<std::size_t>(loss.rank)];
  if (loss.rank == own_) {
    return fmt::format("rank {} took this one, rank {} of {}, for lost: {}",
                       loss.told_by,
                       own_,
                       peers_.size(),
                       loss.why);
  }
  std::string text =
      fmt::format("rank {} lost rank {} of {}: {}", own_, loss.rank, peers_.size(), loss.why);
  if (loss.told_by >= 0) text += fmt::format(", says rank {}", loss.told_by);
  if (!peer.host.empty()) {
    text += fmt::format("; it was on {}, {}", peer.host, text_of(peer.position));
  }
  if (recorder_ == nullptr) return text;
  const RankPosition own = recorder_->position();
  if (own.task >= 0) text += fmt::format("; rank {} was {}", own_, text_of(own));
  return text;
}

}  // namespace elixir::runtime
