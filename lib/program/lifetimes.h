// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The lifetimes of storages in a replay of a program: what produces each storage, its last use,
// which calls can be skipped, which parameters each call touches. All functions are pure functions
// of the operator list. The lifetimes of eager autograd are in Storage::allocated_at and
// freed_after.

#include <vector>

#include "program/program.h"

namespace elixir::program {

enum class Origin : std::uint8_t { kParameter, kBuffer, kInput, kConstant, kProduced };

struct StorageUse {
  Origin origin = Origin::kProduced;
  OperatorId producer = -1;  ///< the call that returns it first; -1 unless kProduced
  OperatorId last_use = -1;  ///< the last executed call that reads, writes or returns it; -1: none
};

struct Lifetimes {
  std::vector<StorageUse> storages;  ///< by storage id
  std::vector<bool> executed;        ///< by operator id; false for calls that only make views
  /// By operator id: positions in Program::parameters whose storages an executed call touches.
  /// Ascending, without duplicates. Empty for calls that are not executed.
  std::vector<std::vector<std::int32_t>> parameters_used;
  /// By position in Program::parameters: the call after which its gradient is final; -1 without a
  /// gradient.
  std::vector<OperatorId> gradient_ready;
  /// By operator id: storages whose producer it is, ascending.
  std::vector<std::vector<StorageId>> made_by;
  /// By operator id: storages that a replay releases right after the call. Produced storages are
  /// released at their last use. Gradients and the loss are not listed: whoever consumes them must
  /// release them.
  std::vector<std::vector<StorageId>> released_after;
};

/// Throws kInternal when the program breaks its own rules (for example, a storage is used before it
/// is produced).
[[nodiscard]] Lifetimes analyse_lifetimes(const Program& program);

/// The program with replay lifetimes in place of autograd's. A storage lives from the call that
/// produces it to its last use; gradients and the loss live to the end.
[[nodiscard]] Program with_replay_lifetimes(Program program);

/// Positions in Program::parameters, in order of first use by an executed call. Unused ones come
/// last.
[[nodiscard]] std::vector<std::int32_t> order_of_first_use(const Program& program,
                                                           const Lifetimes& lifetimes);

}  // namespace elixir::program
