// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What both sides of a meeting (rendezvous.h) have in common: this rank's place, the gate, and the
// connections between every two ranks. meeting_host.cc has rank 0's side, meeting_guest.cc that of
// the others.

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/ranks/gate.h"
#include "runtime/ranks/rendezvous.h"

namespace elixir::runtime {

class Meeting {
 public:
  Meeting(const StartedRank& started,
          std::string version,
          std::chrono::milliseconds patience,
          std::unique_ptr<LauncherStore> store);
  virtual ~Meeting() = default;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  [[nodiscard]] virtual RankWays run() = 0;

 protected:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;
  static constexpr int kMeshes = kChannels - 1;  ///< steps, control, signs of life
  /// How long a failure is told to others.
  static constexpr Milliseconds kForReaders{2000};

  /// Keeps a connection between two ranks. A newer one replaces it: the other side tries again only
  /// if it has given up the one before.
  void keep(Arrival arrival);
  /// With all ranks above and below.
  [[nodiscard]] bool all_connected() const;
  /// The first rank with which there is a connection too few; -1: none.
  [[nodiscard]] int first_unconnected() const;
  [[nodiscard]] RankWays ways();

  [[nodiscard]] std::string self() const;
  [[nodiscard]] Error cannot(const std::string& why) const;
  [[nodiscard]] long long patience_seconds() const { return patience_.count() / 1000; }
  [[nodiscard]] std::string master() const;

  const StartedRank started_;
  const std::string version_;
  const Milliseconds patience_;
  const std::unique_ptr<LauncherStore> store_;
  Place own_;  ///< where others reach this rank
  std::unique_ptr<Gate> gate_;
  std::vector<Place> table_;

 private:
  /// Opens the gate.
  [[nodiscard]] std::vector<Socket> listen();

  std::array<std::vector<Socket>, kMeshes> meshes_;  ///< by rank
};

[[nodiscard]] std::unique_ptr<Meeting> make_host(const StartedRank& started,
                                                 const std::string& version,
                                                 std::chrono::milliseconds patience,
                                                 std::unique_ptr<LauncherStore> store);
[[nodiscard]] std::unique_ptr<Meeting> make_guest(const StartedRank& started,
                                                  const std::string& version,
                                                  std::chrono::milliseconds patience,
                                                  std::unique_ptr<LauncherStore> store);

}  // namespace elixir::runtime
