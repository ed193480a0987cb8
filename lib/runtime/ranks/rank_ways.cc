// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/rank_ways.h"

#include <utility>

#include "runtime/ranks/socket_communicator.h"

namespace elixir::runtime {

RankWays::RankWays(int rank,
                   std::vector<int> steps,
                   std::vector<int> control,
                   std::vector<int> beats)
    : recorder_(std::make_unique<TaskRecorder>()),
      heartbeat_(std::make_unique<Heartbeat>(std::move(beats), recorder_.get())),
      steps_(make_socket_communicator(rank, std::move(steps), heartbeat_.get())),
      control_(make_socket_communicator(rank, std::move(control), heartbeat_.get())) {}

}  // namespace elixir::runtime
