// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The ranks of a run on this machine. Rank 0 is the process that the user started. It starts the
// others with the same command line, connected by sockets that they inherit; they print nothing.

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/ranks/rank_ways.h"
#include "runtime/trainer_options.h"

namespace elixir::tools {

/// The ways of a process that rank 0 has started; nullopt: the user has started this one.
[[nodiscard]] std::optional<runtime::RankWays> ways_of_follower();

/// Ranks 1 and up, as processes.
class RankProcesses {
 public:
  /// On a GPU each gets one of its own, in the order of CUDA_VISIBLE_DEVICES; rank 0 must use the
  /// first. Throws kIoError when they cannot be started.
  RankProcesses(int world, runtime::DeviceKind device);
  /// Waits for those that end by themselves, for some seconds, and ends the others.
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  [[nodiscard]] const runtime::RankWays& ways() const { return *ways_; }
  /// Adds to the error of rank 0 what a rank has said that failed before.
  void explain(Error& error);

 private:
  using Sockets = std::vector<std::vector<int>>;
  struct Process {
    pid_t id = -1;
    int said = -1;  ///< a file with its standard error
    std::optional<int> status;
  };
  /// `meshes`: sockets by rank and other rank. `variables` of its environment replace those of this
  /// process.
  void start(int rank, const std::array<Sockets, 3>& meshes, std::vector<std::string> variables);
  void await(int seconds);

  std::vector<Process> processes_;  ///< of ranks 1 and up
  bool lost_one_ = false;           ///< those that still run then are not waited for again
  std::optional<runtime::RankWays> ways_;
};

}  // namespace elixir::tools
