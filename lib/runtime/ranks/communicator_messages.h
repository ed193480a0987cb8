// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Messages whose lengths only their sender knows, over a communicator. Every rank must call these
// at once, with the same type. Throws kRankLost when a rank is gone or sends what no rank sends.

#include <string>
#include <vector>

#include "runtime/ranks/communicator.h"
#include "runtime/ranks/wire.h"

namespace elixir::runtime {

/// `payload` of rank `root`; that of others does not count. A payload is within the type's limit.
[[nodiscard]] std::string broadcast_message(Communicator& ranks,
                                            int root,
                                            MessageType type,
                                            std::string payload = {});

/// Those of all, by rank.
[[nodiscard]] std::vector<std::string> gather_messages(Communicator& ranks,
                                                       MessageType type,
                                                       std::string own);

/// For a decoder of these.
[[noreturn]] void throw_no_rank_sends(const Communicator& ranks, int rank);

}  // namespace elixir::runtime
