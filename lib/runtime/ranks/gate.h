// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Connections between ranks, each let in only after both sides have proven that they have the
// secret of the job:
//
//   connector → listener   Hello      who it is, whom it wants, what for, a nonce
//   listener → connector   Challenge  a nonce, and the listener's digest of Hello and nonce
//   connector → listener   Proof      the connector's digest of the same
//   listener → connector   Welcome    from here on both count as connected
//
// The digests are of all that both have said and of who says it, so none can be sent back or used
// again. One thread serves all at once by poll(): whoever is silent costs nobody else time, and one
// that has been silent for longest makes room when there are too many.

#include <chrono>
#include <cstddef>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ranks/connection.h"
#include "runtime/ranks/messages.h"
#include "runtime/ranks/tcp_socket.h"

namespace elixir::runtime {

/// What this rank proves, and expects of others.
struct Badge {
  int rank = 0, world = 1;
  std::string attempt, secret;
};

/// Another rank that has proven itself.
struct Arrival {
  int rank = -1;
  int world = 0;  ///< of how many it says it is; this rank's own, except for Channel::kMeeting
  Channel channel = Channel::kMeeting;
  Connection connection;  ///< sealed for a meeting
};

class Gate {
 public:
  Gate(Badge own, std::vector<Socket> listening);

  /// Connects to rank `to`, again and again until it has let this one in. For a `to` and `channel`
  /// that are sought already, at another place from now on.
  void seek(int to, Channel channel, const std::string& host, int port);

  /// Waits for something to happen, until `until` at most, and hands over whoever was let in.
  /// `others` are connections to wait for as well. Throws kRanksCannotConnect when no descriptors
  /// are left.
  [[nodiscard]] std::vector<Arrival> wait(Deadline until,
                                          const std::vector<const Connection*>& others = {});

  /// Why rank `to` was not reached on the last attempt; empty where it is not sought.
  [[nodiscard]] std::string why_not(int to) const;
  /// What became of those who said that they were `rank` and were not let in; empty: nobody did.
  [[nodiscard]] std::string claims_of(int rank) const;

 private:
  using Clock = std::chrono::steady_clock;
  /// Somebody who has connected.
  struct Stranger {
    Connection connection;
    std::string address;
    Clock::time_point since, heard;
    std::optional<Hello> hello;
    std::string said;  ///< Hello's payload, then also the nonce of the challenge
    bool welcome = false;
    bool done = false;
  };
  /// A rank to which this one connects.
  struct Sought {
    int to = -1, port = 0;
    Channel channel = Channel::kMeeting;
    std::string host;
    std::vector<SocketAddress> addresses;  ///< that are still to be tried
    enum class State : char { kIdle, kConnecting, kGreeting, kProven } state = State::kIdle;
    Clock::time_point until;  ///< of this state
    Connection connection;
    std::string said;
    std::string why_not = "no answer";
  };

  void accept_all();
  void make_room();
  void advance(Stranger& stranger, std::vector<Arrival>& arrivals);
  void meet(Stranger& stranger, const Frame& hello);
  void check(Stranger& stranger, const Frame& proof);
  void begin(Sought& sought);
  void advance(Sought& sought, short happened, std::vector<Arrival>& arrivals);
  void greet(Sought& sought);
  void answer(Sought& sought, const Frame& challenge);
  void try_next(Sought& sought, std::string why_not);
  void note_claim(const Stranger& stranger, const std::string& what);
  [[nodiscard]] Digest digest(Purpose purpose, const std::string& said) const;

  Badge own_;
  std::vector<Socket> listening_;
  std::list<Stranger> strangers_;
  std::list<Sought> sought_;
  struct Claim {
    int rank = -1;
    std::string what;
  };
  std::deque<Claim> claims_;
};

}  // namespace elixir::runtime
