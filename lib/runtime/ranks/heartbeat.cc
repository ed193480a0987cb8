// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/heartbeat.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "runtime/ranks/tcp_socket.h"

namespace elixir::runtime {
namespace {

constexpr std::chrono::milliseconds kBetweenBeats{100};
/// How long a rank that has lost another one waits for what the others say of it.
constexpr std::chrono::milliseconds kForWords{300};
/// Of one rank, before the next one's turn.
constexpr int kMostFrames = 10'000;

}  // namespace

Heartbeat::Heartbeat(std::vector<int> sockets,
                     const TaskRecorder* recorder,
                     std::chrono::milliseconds patience)
    : recorder_(recorder), patience_(patience), peers_(sockets.size()) {
  const std::string host = host_name();
  for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
    Peer& peer = peers_[rank];
    peer.heard = Clock::now();
    if (sockets[rank] < 0) {
      own_ = static_cast<int>(rank);
      peer.host = host;
      continue;
    }
    peer.connection = Connection(
        Socket(sockets[rank]),
        {MessageType::kHost, MessageType::kPosition, MessageType::kLoss, MessageType::kReason});
    peer.connection.send(MessageType::kHost, encode_text(host));
  }
  thread_ = std::thread([this] { run(); });
}

Heartbeat::~Heartbeat() {
  ends_ = true;
  thread_.join();
}

void Heartbeat::run() {
  while (!ends_) {
    const RankPosition own = recorder_ == nullptr ? RankPosition{} : recorder_->position();
    {
      const std::scoped_lock lock(mutex_);
      for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        Peer& peer = peers_[rank];
        if (!peer.is_other()) continue;
        // A beat that waits in a full buffer is enough: nobody listens there.
        if (!peer.connection.has_unsent()) {
          peer.connection.send(MessageType::kPosition, encode(own));
        }
        peer.connection.flush();
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

void Heartbeat::send_to_all(MessageType type, const std::string& payload) const {
  for (Peer& peer : peers_) {
    if (peer.is_other()) peer.connection.send(type, payload);
  }
}

void Heartbeat::listen(int rank, Peer& peer) {
  Connection& connection = peer.connection;
  // If this process was stopped itself, what came meanwhile waits here: first all of it.
  for (int frames = 0; frames < kMostFrames; ++frames) {
    const auto frame = connection.receive();
    if (!frame) break;
    peer.heard = Clock::now();
    if (!take(rank, *frame)) connection.end(kNoRankSends);
  }
  // Found here, where all that came has been read.
  peer.silent = Clock::now() - peer.heard > patience_;
  if (!connection.ended()) return;
  peer.ended = true;
  if (connection.why_ended() == kNoRankSends && !peer.failure) peer.failure = kNoRankSends;
}

bool Heartbeat::take(int rank, const Frame& frame) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (frame.type == MessageType::kPosition) {
    const auto position = decode_position(frame.payload);
    if (position) peer.position = *position;
    return position.has_value();
  }
  if (frame.type == MessageType::kLoss) {
    const auto loss = decode_loss(frame.payload, static_cast<int>(peers_.size()));
    if (loss && !told_) {
      told_at_ = Clock::now();
      told_ = Loss{*loss, rank};
    }
    return loss.has_value();
  }
  auto text = decode_text(frame.payload);
  if (!text) return false;
  if (frame.type == MessageType::kHost) {
    peer.host = std::move(*text);
  } else {
    peer.failure = std::move(*text);
  }
  return true;
}

std::optional<Heartbeat::Loss> Heartbeat::first_loss(bool ended_counts) const {
  if (tells_) return tells_;
  const auto each = [&](auto why_lost) -> std::optional<Loss> {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      if (!peers_[rank].is_other()) continue;
      if (std::optional<std::string> why = why_lost(peers_[rank])) {
        return Loss{{static_cast<int>(rank), std::move(*why)}};
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
    if (peer.is_other()) fewest = std::min(fewest, peer.position.tasks_ended);
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
  return tell({{peer, why}});
}

std::string Heartbeat::tell(const Loss& loss) const {
  if (!tells_) {
    tells_ = loss;
    tells_at_ = Clock::now();
    send_to_all(MessageType::kLoss, encode(static_cast<const RankLoss&>(loss)));
  }
  return text_of_loss(loss);
}

void Heartbeat::say_failure(const std::string& why) const {
  const std::scoped_lock lock(mutex_);
  send_to_all(MessageType::kReason, encode_text(why));
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
