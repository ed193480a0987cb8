// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The edit that makes activations a second time instead of keeping them: operators of forward run
// once more, just before backward needs what they make. A pure function of program and storages, so
// that search and trainer get the same program.
//
// The copies write nothing but storages of their own: no parameter, no buffer (batch norms go
// without their running statistics, which forward has updated). Operators that draw random numbers
// draw those of the first time: `Operator::repeats` tells the replay which call that was.

#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::edit {

/// A storage that stays kept though its recomputation was asked for.
struct KeptInstead {
  program::StorageId storage = -1;
  program::OperatorId op = -1;  ///< the operator that cannot be repeated
  std::string reason;           ///< "draws its dropout from a state of cuDNN's"
};

struct Recomputed {
  program::Program program;  ///< with the lifetimes of a replay
  std::vector<KeptInstead> kept;
};

/// The first of `storages` that no operator of forward makes; nullopt: recompute() takes them all.
[[nodiscard]] std::optional<program::StorageId> not_made_by_forward(
    const program::Program& program, const std::vector<program::StorageId>& storages);

/// `program` with `storages`, which forward makes, made again for backward. Ids of
/// operators and storages of the result are its own; parameters, buffers, inputs and modules are
/// those of `program`. Throws kInternal for a storage that forward does not make.
[[nodiscard]] Recomputed recompute(const program::Program& program,
                                   const std::vector<program::StorageId>& storages);

}  // namespace elixir::edit
