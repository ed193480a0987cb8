// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Device memory of one eager training step by operator and category, from a program alone. Storages
// live from Storage::allocated_at to Storage::freed_after (eager autograd's own lifetimes) and
// count rounded up to 512 bytes, as LibTorch's caching allocator counts allocated bytes. Reserved
// memory, workspaces and other hidden allocations are not part of it.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "program/document.h"
#include "program/program.h"

namespace elixir::memory {

inline constexpr int kCategoryCount = 8;
using ByCategory = std::array<std::int64_t, kCategoryCount>;  ///< bytes, by program::Category

/// Rounding of LibTorch's caching allocator (kMinBlockSize).
inline constexpr std::int64_t kRoundingBytes = 512;
[[nodiscard]] std::int64_t rounded(std::int64_t bytes);

struct LiveStorage {
  program::StorageId storage = -1;
  std::int64_t bytes = 0;  ///< rounded
};

struct Timeline {
  /// Bytes alive while an operator runs (its outputs included), by operator id.
  std::vector<std::int64_t> allocated_bytes;
  std::vector<ByCategory> by_category_bytes;  ///< the same by category, by operator id
  std::int64_t peak_bytes = 0;
  program::OperatorId peak_operator = -1;  ///< the first that reaches the peak
  ByCategory peak_by_category_bytes{};
  std::vector<LiveStorage> live_at_peak;    ///< largest first, ties by id
  std::int64_t activations_peak_bytes = 0;  ///< most that activations reach, wherever that is
};

/// Optimizer state is there all the time (`optimizer_bytes`, as from the second step on).
[[nodiscard]] Timeline make_timeline(const program::Program& program, std::int64_t optimizer_bytes);

/// Bytes of the optimizer's tensors (`optimizer_state.h`), each rounded up.
[[nodiscard]] std::int64_t optimizer_state_bytes(const program::Program& program,
                                                 const std::string& optimizer);

[[nodiscard]] program::MemorySummary summarise(const program::Program& program,
                                               const std::string& optimizer);

}  // namespace elixir::memory
