// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The formulas of the original Elixir (arXiv 2212.05339; github.com/hpcaitech/Elixir e9ccbd9),
// without programs and plans, so that tests can check them against known values. Sizes are in
// elements unless the name has a unit. Fixed here: the endless loop when no block fits at a size,
// the empty heap when a step needs more chunks than blocks, and the order of parameters inside a
// step (operand order instead of a set order that differs between processes).

#include <cstdint>
#include <optional>
#include <vector>

namespace elixir::search::original {

/// Number of chunk moves for these steps of chunk ids: 2 * loads of Belady's rule, because every
/// load and every eviction counts. nullopt: a step needs more chunks than `blocks`.
[[nodiscard]] std::optional<std::int64_t> moves(const std::vector<std::vector<std::int32_t>>& steps,
                                                std::int64_t blocks);

/// First fit in order: the chunk of every parameter. No parameter is split.
[[nodiscard]] std::vector<std::int32_t> assign_chunks(const std::vector<std::int64_t>& sizes,
                                                      std::int64_t chunk_size);
/// Elements that packing leaves unused, including the end of the last chunk.
[[nodiscard]] std::int64_t packing_waste(const std::vector<std::int64_t>& sizes,
                                         std::int64_t chunk_size);

/// Chunk sizes to try: from `low` to `high` in steps of `step`.
struct Range {
  std::int64_t low = 0, high = 0, step = 1;
};
[[nodiscard]] Range chunk_sizes(std::int64_t largest,
                                std::int64_t parameters,
                                std::int64_t element_bytes);

struct ChunkChoice {
  std::int64_t chunk_size = 0;
  std::int64_t blocks = 0;
};
/// The chunk size that moves the fewest elements; the smallest on ties. `steps` holds positions in
/// `sizes`. `capacity` limits the cache. `ranks` is the number of data-parallel processes. nullopt:
/// no size works.
[[nodiscard]] std::optional<ChunkChoice> choose_chunks(
    const std::vector<std::int64_t>& sizes,
    const std::vector<std::vector<std::int32_t>>& steps,
    std::int64_t capacity,
    std::int64_t element_bytes,
    int ranks,
    bool overlap);
/// The size with the least packing waste; the smallest on ties.
[[nodiscard]] std::int64_t least_waste_chunk_size(const std::vector<std::int64_t>& sizes,
                                                  std::int64_t element_bytes);

/// Bytes per second and parameters per second, summed over all ranks.
struct Rates {
  double cpu_to_gpu = 0, gpu_to_cpu = 0, gpu_adam = 0, cpu_adam = 0;
};
/// The original's A100 constants for n ranks.
[[nodiscard]] Rates a100_rates(int ranks);

/// Elements of an optimizer shard (parameter, master, moments) per element of parameters.
[[nodiscard]] double optimizer_factor(int moments, std::int64_t element_bytes);

/// The value of a byte of GPU memory, in seconds per parameter.
struct Values {
  double block = 0;      ///< I: one more cache block
  double optimizer = 0;  ///< J: the same memory for optimizer shards
};
[[nodiscard]] Values values(const Rates& rates,
                            int ranks,
                            double optimizer_factor,
                            std::int64_t element_bytes);

}  // namespace elixir::search::original
