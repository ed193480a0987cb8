// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Signs of life between ranks. A rank that computes for long still sends them, from a thread of its
// own; one whose process or machine has stopped does not. Without them it would be waited for
// without end.

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace elixir::runtime {

inline constexpr std::chrono::seconds kRankPatience{10};

class Heartbeat {
 public:
  /// `sockets`: connected sockets by rank, for this alone; that of the own rank is -1. Takes them
  /// over.
  Heartbeat(std::vector<int> sockets, std::chrono::milliseconds patience = kRankPatience);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// A rank that nothing has been heard of for longer than the patience.
  [[nodiscard]] std::optional<int> silent() const;
  /// A rank that has ended.
  [[nodiscard]] std::optional<int> ended() const;
  [[nodiscard]] std::chrono::milliseconds patience() const { return patience_; }

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  void send_and_listen();

  std::vector<int> sockets_;
  std::chrono::milliseconds patience_;
  std::vector<Clock::time_point> heard_;  ///< by rank; the thread's
  std::atomic<int> silent_{-1}, ended_{-1};
  std::atomic<bool> ends_{false};
  std::thread thread_;  ///< last: it uses what is above
};

}  // namespace elixir::runtime
