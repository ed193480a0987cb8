// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How recently a program used what a call is about to use: what a cache may still hold of it.
// Reuse distance counted in bytes (Mattson et al. 1970, over whole storages).

#include <cstdint>
#include <vector>

#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::program {

struct Reuse {
  StorageId storage = -1;
  std::int64_t bytes_since = 0;  ///< touched by the executed calls between the last use and now
  bool written = false;          ///< by that last use
  bool operator==(const Reuse&) const = default;
};

/// The storages that arguments of call `op` lie in and that an earlier executed call used at most
/// `limit_bytes` of touched memory ago, the least recent first.
[[nodiscard]] std::vector<Reuse> recent_uses(const Program& program,
                                             const Lifetimes& lifetimes,
                                             OperatorId op,
                                             std::int64_t limit_bytes);

}  // namespace elixir::program
