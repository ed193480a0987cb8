// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Signs of life between ranks, from a thread of their own. Each rank hears where the others are,
// what they say before they fail, and which rank they miss. So every rank can name the one that
// began a failure, though it may have noticed another first: one that ended because of it.

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/ranks/connection.h"
#include "runtime/ranks/messages.h"
#include "runtime/ranks/task_recorder.h"

namespace elixir::runtime {

inline constexpr std::chrono::seconds kRankPatience{10};

class Heartbeat {
 public:
  /// `sockets`: connected sockets by rank, for this alone; that of the own rank is -1. Takes them
  /// over. `recorder`, if given, must outlive this object.
  Heartbeat(std::vector<int> sockets,
            const TaskRecorder* recorder = nullptr,
            std::chrono::milliseconds patience = kRankPatience);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Which rank is lost and why, as far as it is known: one that has ended, that nothing was heard
  /// of for longer than the patience, or whose task runs for too long.
  [[nodiscard]] std::optional<std::string> lost() const;
  /// As lost(), but not one that has only ended: whoever needs it sees that by its connection.
  [[nodiscard]] std::optional<std::string> hangs() const;
  /// Something waits for the rank that lost() names: the others are told.
  void tell_loss() const;
  /// The connection to `peer` has failed, because of `why`. Waits a moment for what other ranks say
  /// of it, tells them, and says which rank is lost and why.
  [[nodiscard]] std::string loss_of(int peer, const std::string& why) const;
  /// Calls `action` once, from a thread of its own, when others or this one have said that a rank
  /// is lost and this process still lives after `patience`: then it cannot end by itself, and may
  /// be the one that hangs.
  void when_overdue(std::function<void(const std::string& loss)> action,
                    std::chrono::milliseconds patience);
  /// Lets the other ranks know why this one will end.
  void say_failure(const std::string& why) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    Connection connection;
    std::string host;
    Clock::time_point heard;
    RankPosition position;
    bool ended = false, silent = false;
    std::optional<std::string> failure;  ///< what it has said
    [[nodiscard]] bool is_other() const { return connection.descriptor() >= 0; }
  };
  struct Loss : RankLoss {
    int told_by = -1;  ///< -1: noticed here
  };
  void run();
  void check_overdue();
  void send_to_all(MessageType type, const std::string& payload) const;
  void listen(int rank, Peer& peer);
  /// False: no rank sends that.
  [[nodiscard]] bool take(int rank, const Frame& frame);
  [[nodiscard]] std::optional<Loss> first_loss(bool ended_counts) const;
  /// Tells the others, once.
  [[nodiscard]] std::string tell(const Loss& loss) const;
  [[nodiscard]] std::string text_of_loss(const Loss& loss) const;

  int own_ = 0;
  const TaskRecorder* recorder_;
  std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  mutable std::vector<Peer> peers_;  ///< by rank
  std::function<void(const std::string& loss)> when_overdue_;
  std::chrono::milliseconds overdue_patience_{0};
  Clock::time_point told_at_;
  mutable Clock::time_point tells_at_;
  std::optional<Loss> told_;           ///< by another rank
  mutable std::optional<Loss> tells_;  ///< what this rank has told
  std::atomic<bool> ends_{false};
  std::thread thread_;  ///< last: it uses what is above
};

}  // namespace elixir::runtime
