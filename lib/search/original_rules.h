// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The formulas of the original Elixir (arXiv 2212.05339; github.com/hpcaitech/Elixir e9ccbd9),
// apart from programs and plans so that known values can be tested. Sizes are in elements where the
// name says nothing else. Mended: its endless loop when no block fits at a size, the empty heap
// when a step needs more chunks than blocks, and the order of parameters inside a step (operand
// order instead of a process-dependent set order).

#include <cstdint>
#include <optional>
#include <vector>

namespace elixir::search::original {

/// Steps of chunk ids: 2 * loads of Belady's choice; every load and every eviction counts. nullopt:
/// a step needs more chunks than `blocks`.
[[nodiscard]] std::optional<std::int64_t> moves(const std::vector<std::vector<std::int32_t>>& steps,
                                                std::int64_t blocks);

/// First fit in order: the chunk of every parameter, none split.
[[nodiscard]] std::vector<std::int32_t> assign_chunks(const std::vector<std::int64_t>& sizes,
                                                      std::int64_t chunk_size);
/// Elements that packing leaves unused, the end of the last chunk included.
[[nodiscard]] std::int64_t packing_waste(const std::vector<std::int64_t>& sizes,
                                         std::int64_t chunk_size);

/// Chunk sizes that are tried: from `low` to `high` by `step`.
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
/// The size that moves fewest elements, smallest on ties. `steps` are positions in `sizes`;
/// `capacity` is what the cache may take, `ranks` data-parallel processes. nullopt: no size works.
[[nodiscard]] std::optional<ChunkChoice> choose_chunks(
    const std::vector<std::int64_t>& sizes,
    const std::vector<std::vector<std::int32_t>>& steps,
    std::int64_t capacity,
    std::int64_t element_bytes,
    int ranks,
    bool overlap);
/// Least packing waste, smallest on ties.
[[nodiscard]] std::int64_t least_waste_chunk_size(const std::vector<std::int64_t>& sizes,
                                                  std::int64_t element_bytes);

/// Bytes per second and parameters per second, all ranks together.
struct Rates {
  double cpu_to_gpu = 0, gpu_to_cpu = 0, gpu_adam = 0, cpu_adam = 0;
};
/// The original's A100 literals for n ranks.
[[nodiscard]] Rates a100_rates(int ranks);

/// Elements of optimizer shard (parameter, master, moments) per element of parameters.
[[nodiscard]] double optimizer_factor(int moments, std::int64_t element_bytes);

/// What a byte of GPU memory is worth, in seconds per parameter.
struct Values {
  double block = 0;      ///< I: one more cache block
  double optimizer = 0;  ///< J: the same memory for optimizer shards
};
[[nodiscard]] Values values(const Rates& rates,
                            int ranks,
                            double optimizer_factor,
                            std::int64_t element_bytes);

}  // namespace elixir::search::original
