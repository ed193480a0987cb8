// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Ranks that something else has started, on one machine or several, find and connect each other.
// They meet at a c10d::TCPStore at the master's port, as other programs under torchrun do: there
// torchrun's agent keeps it, elsewhere rank 0. Then every two ranks connect, to ports that the
// system chooses.

#include <chrono>
#include <string>

#include "runtime/ranks/rank_ways.h"

namespace elixir::runtime {

/// What whoever has started this rank says of it.
struct StartedRank {
  int rank = 0, world = 1;
  int local_rank = 0, local_world = 1;  ///< among those of this machine
  std::string master_host;              ///< of rank 0
  int master_port = 0;
  bool store_is_there = false;  ///< else rank 0 keeps it
  /// Ranks of other attempts may have met at the same store.
  std::string attempt = "0";
};

/// All ranks of `started.world`, connected. `version` must be the same on all. Throws within about
/// `patience`, and names ranks and hosts: kRanksCannotConnect, kRanksContradict (two processes with
/// one rank, other numbers of ranks), kRanksDiffer (`version`).
[[nodiscard]] RankWays meet(const StartedRank& started,
                            const std::string& version,
                            std::chrono::milliseconds patience);

}  // namespace elixir::runtime
