// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The edit that recomputes activations instead of keeping them. Operators of forward run again,
// just before backward needs their results. A pure function of program and storages, so that search
// and trainer get the same program.
//
// The copies write only their own storages: no parameter and no buffer. (A copied batch norm does
// not get its running statistics, because forward has already updated them.) Operators that draw
// random numbers use the same numbers again: `Operator::repeats` names the first call for the
// replay.

#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::edit {

/// A storage that is kept although its recomputation was requested.
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

/// `program` with `storages`, which forward makes, recomputed for backward. The result has its own
/// ids of operators and storages; parameters, buffers, inputs and modules are `program`'s.
/// Throws kInternal for a storage that forward does not make.
[[nodiscard]] Recomputed recompute(const program::Program& program,
                                   const std::vector<program::StorageId>& storages);

}  // namespace elixir::edit
