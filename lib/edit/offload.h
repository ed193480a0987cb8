// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The edit that lets activations wait on the host between forward and backward. A pure function of
// program, storages and window, so that search and trainer get the same program.
//
// The edited program says when each copy begins and ends (operators/own.h): lifetimes, memory and
// schedule follow from it like from any other program. An activation leaves as soon as its content
// is final. Backward reads a new storage, into which the copy comes back.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/name_table.h"
#include "program/program.h"

namespace elixir::edit {

/// Which of the activations that a plan keeps wait on the host.
enum class Offload : std::uint8_t { kNone, kAll };
inline constexpr NameTable<Offload, 2> kOffloads{
    {{Offload::kNone, "none"}, {Offload::kAll, "all"}}};

/// Activations that can wait on the host, in the order in which forward completes them. Backward
/// reads them and does not write them. Gradients and the loss are not among them.
[[nodiscard]] std::vector<program::StorageId> offloadable(const program::Program& program);

/// The offloadable activations to take when `share` of their bytes, from 0 to 1, shall be on the
/// host: the ones that forward completes first, because they wait longest. An activation that is
/// small beside the largest one stays, because each copy takes time of its own.
[[nodiscard]] std::vector<program::StorageId> worth_offloading(const program::Program& program,
                                                               double share);

/// The offloadable activations that forward completes last, at most `bytes` together: backward
/// reads them first. Small ones stay, as above.
[[nodiscard]] std::vector<program::StorageId> completed_last(const program::Program& program,
                                                             std::int64_t bytes);

/// The first of `storages` that is not offloadable(); nullopt: offload() takes them all.
[[nodiscard]] std::optional<program::StorageId> not_offloadable(
    const program::Program& program, const std::vector<program::StorageId>& storages);

/// `program` with `storages` on the host between forward and backward. `window_bytes` limits the
/// device memory of activations that move: whose copy to the host has begun and not ended, or that
/// come back before backward needs them. With 0, compute waits for each copy. Ids of storages stay,
/// operators get new ids. Throws kInternal for a storage that is not offloadable.
[[nodiscard]] program::Program offload(const program::Program& program,
                                       const std::vector<program::StorageId>& storages,
                                       std::int64_t window_bytes);

/// A window for these storages: room for the largest to move while another one does.
[[nodiscard]] std::int64_t offload_window_bytes(const program::Program& program,
                                                const std::vector<program::StorageId>& storages);

/// What a program's offloaded activations take on the host.
[[nodiscard]] std::int64_t offloaded_bytes(const program::Program& program);

}  // namespace elixir::edit
