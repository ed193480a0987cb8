// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The activations of a program: storages that forward makes and backward reads. They take memory
// from the one to the other unless an edit recomputes them.

#include <optional>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace elixir::edit {

/// What is recomputed instead of kept.
enum class Recompute {
  kNone,
  /// Inside repeated blocks: what norms, elementwise operators and the like make. Products and
  /// attention are kept, so that little time is lost.
  kElementwise,
  /// Everything inside repeated blocks; their inputs are kept.
  kBlocks,
  /// A point of frontier(): what saves most for its time.
  kFrontier,
};
/// "none", "elementwise", "blocks", "frontier".
[[nodiscard]] std::string_view name_of(Recompute recompute);
[[nodiscard]] std::optional<Recompute> recompute_named(std::string_view name);

/// Storages kept from forward to backward, by number. Gradients and the loss are none of them.
[[nodiscard]] std::vector<program::StorageId> kept_activations(const program::Program& program);

/// The block of each operator: a position among siblings of one module list ("h.0", "h.1", …), or
/// -1 for operators outside of every block. Blocks are the modules whose paths differ in one number
/// alone and which together hold the most kept activations; nested lists count as part of the
/// outer.
[[nodiscard]] std::vector<std::int32_t> blocks_of(const program::Program& program);

/// By storage: forward makes it inside a block, and no operator of forward outside of the block
/// reads it. What passes from block to block stays kept.
[[nodiscard]] std::vector<bool> recomputable(const program::Program& program);

/// What to give to edit::recompute() for kElementwise and kBlocks: storages that forward makes inside a block and that no
/// operator of forward outside of the block reads, so that what passes from block to block stays.
/// They are not kept activations alone: a copy needs what lies between.
[[nodiscard]] std::vector<program::StorageId> choose(const program::Program& program,
                                                     Recompute recompute);

}  // namespace elixir::edit
