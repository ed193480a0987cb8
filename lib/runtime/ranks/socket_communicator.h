// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Ranks on CPUs, over sockets: every rank has a connection to every other one.

#include <memory>
#include <vector>

#include "runtime/ranks/communicator.h"
#include "runtime/ranks/heartbeat.h"

namespace elixir::runtime {

/// `sockets`: connected stream sockets by rank; that of the own rank is -1. Takes them over. With a
/// `heartbeat`, which must outlive the communicator, a rank that shows no sign of life is lost.
[[nodiscard]] std::unique_ptr<Communicator> make_socket_communicator(
    int rank, std::vector<int> sockets, const Heartbeat* heartbeat = nullptr);

}  // namespace elixir::runtime
