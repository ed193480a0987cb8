// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How recently a program used the storages that a call is about to use. This tells what a cache may
// still hold. The measure is the reuse distance in bytes (Mattson et al. 1970, over whole
// storages).

#include <cstdint>
#include <vector>

#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::program {

struct Reuse {
  StorageId storage = -1;
  std::int64_t bytes_since = 0;  ///< touched by executed calls between the last use and now
  bool written = false;          ///< whether the last use wrote it
  bool operator==(const Reuse&) const = default;
};

/// The storages of the arguments of call `op` that an earlier executed call used at most
/// `limit_bytes` of touched memory ago, least recent first.
[[nodiscard]] std::vector<Reuse> recent_uses(const Program& program,
                                             const Lifetimes& lifetimes,
                                             OperatorId op,
                                             std::int64_t limit_bytes);

}  // namespace elixir::program
