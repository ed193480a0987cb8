// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The activations of a program: storages that forward makes and backward reads. They use memory
// from forward to backward unless an edit recomputes them.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::edit {

/// Which activations are recomputed instead of kept.
enum class Recompute {
  kNone,
  /// The results of norms, elementwise operators and similar ones inside blocks. Products and
  /// attention are kept, so that little time is lost.
  kElementwise,
  /// Everything inside blocks. Their inputs are kept.
  kBlocks,
  /// A point of frontier(): what saves most for its time.
  kFrontier,
};
/// "none", "elementwise", "blocks", "frontier".
[[nodiscard]] std::string_view name_of(Recompute recompute);
[[nodiscard]] std::optional<Recompute> recompute_named(std::string_view name);

/// Storages kept from forward to backward, ascending. Gradients and the loss are not included.
[[nodiscard]] std::vector<program::StorageId> kept_activations(const program::Program& program);
/// The size of all of them.
[[nodiscard]] std::int64_t kept_bytes(const program::Program& program);

/// The block of each operator, or -1 for operators outside of all blocks. Blocks are the items of
/// module lists ("h.0", "h.1", …; nested lists belong to the outer one), or segments of forward
/// (edit/blocks/) where less than a quarter of the kept activations could be made again inside of
/// items. Backward's operators have no segment.
[[nodiscard]] std::vector<std::int32_t> blocks_of(const program::Program& program);

/// By storage: forward makes it, and it is free again before the step ends. Gradients and the loss
/// are not. `lifetimes`: what lifetimes `program`'s storages have.
[[nodiscard]] std::vector<bool> made_for_the_step(const program::Program& program,
                                                  const program::Lifetimes& lifetimes);

/// By storage: forward makes it inside a block, and no operator of forward outside of the block
/// reads it. What passes from block to block stays kept.
[[nodiscard]] std::vector<bool> recomputable(const program::Program& program);

/// What to give to edit::recompute() for kElementwise and kBlocks: storages that forward makes
/// inside a block and that no operator of forward outside of the block reads, so that what passes
/// from block to block stays. They are not kept activations alone: a copy needs what lies between.
[[nodiscard]] std::vector<program::StorageId> choose(const program::Program& program,
                                                     Recompute recompute);

}  // namespace elixir::edit
