// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a replay of a program does with storages: who produces each, when it was last used, which
// calls can be skipped, which parameters each call touches. Pure functions of the operator list;
// eager autograd's own lifetimes are in Storage::allocated_at and freed_after.

#include <vector>

#include "program/program.h"

namespace elixir::program {

enum class Origin : std::uint8_t { kParameter, kBuffer, kInput, kConstant, kProduced };

struct StorageUse {
  Origin origin = Origin::kProduced;
  OperatorId producer = -1;  ///< call that returns it first; -1 unless kProduced
  OperatorId last_use = -1;  ///< last executed call that reads, writes or returns it; -1 never
};

struct Lifetimes {
  std::vector<StorageUse> storages;  ///< by storage id
  std::vector<bool> executed;        ///< by operator id: false for calls that only make views
  /// By operator id: positions in Program::parameters whose storage an executed call touches,
  /// ascending, unique.
  std::vector<std::vector<std::int32_t>> parameters_used;
  /// By position in Program::parameters: the call after which its gradient is final; -1 without
  /// gradient.
  std::vector<OperatorId> gradient_ready;
  /// By operator id: storages a replay releases right after the call (produced ones at their last
  /// use; gradients and the loss are kept: whoever consumes them releases them).
  std::vector<std::vector<StorageId>> released_after;
};

/// Throws kInternal when the program breaks its own rules (a storage used before it is produced).
[[nodiscard]] Lifetimes analyse_lifetimes(const Program& program);

/// The program with the lifetimes of a replay in place of autograd's: storages live from the call
/// that produces them to the last one that uses them, gradients and the loss to the end.
[[nodiscard]] Program with_replay_lifetimes(Program program);

/// Positions in Program::parameters in order of first use by an executed call; unused ones last.
[[nodiscard]] std::vector<std::int32_t> order_of_first_use(const Program& program,
                                                           const Lifetimes& lifetimes);

}  // namespace elixir::program
