// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Ranks that something else has started, on one machine or several, find and connect each other.
// Rank 0 listens at the master's port, or, where torchrun's agent has that, at one that the system
// chooses and the agent's store publishes. The others connect to it and say where they listen
// themselves. When all have come, rank 0 tells everybody where everybody is, and every two ranks
// connect. All connections go through a Gate: both sides prove that they have the job's secret.

#include <chrono>
#include <memory>
#include <string>

#include "runtime/ranks/launcher_store.h"
#include "runtime/ranks/rank_ways.h"

namespace elixir::runtime {

/// What whoever has started this rank says of it.
struct StartedRank {
  int rank = 0, world = 1;
  int local_rank = 0, local_world = 1;  ///< among those of this machine
  std::string master_host;              ///< of rank 0
  int master_port = 0;
  bool store_is_there = false;  ///< the launcher's, at the master's port
  std::string attempt = "0";    ///< of several starts of one job
  std::string secret;           ///< of the job; empty: whoever reaches a rank may join

  /// All ranks are on this machine, as far as this rank can know.
  [[nodiscard]] bool on_one_machine() const;
};

/// All ranks of `started.world`, connected. `version` must be the same on all. `store`: nullptr
/// unless started.store_is_there. Rank 0 waits `patience` for the others to come, and all wait as
/// long for the connections between them once they have. Throws, on all that have come, what stops
/// one of them, and names ranks and hosts: kRanksCannotConnect, kRanksContradict (two processes
/// with one rank, other numbers of ranks), kRanksDiffer (`version`).
[[nodiscard]] RankWays meet(const StartedRank& started,
                            const std::string& version,
                            std::chrono::milliseconds patience,
                            std::unique_ptr<LauncherStore> store = nullptr);

}  // namespace elixir::runtime
