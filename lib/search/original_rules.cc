// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/original_rules.h"

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "schedule/loads/belady.h"

namespace elixir::search::original {

std::optional<std::int64_t> moves(const std::vector<std::vector<std::int32_t>>& steps,
                                  std::int64_t blocks) {
  for (const std::vector<std::int32_t>& step : steps) {
    if (static_cast<std::int64_t>(step.size()) > blocks) return std::nullopt;
  }
  return 2 * static_cast<std::int64_t>(schedule::belady_loads(steps, blocks).size());
}

std::vector<std::int32_t> assign_chunks(const std::vector<std::int64_t>& sizes,
                                        std::int64_t chunk_size) {
  std::vector<std::int32_t> chunk_of;
  chunk_of.reserve(sizes.size());
  std::int32_t chunk = -1;
  std::int64_t left = 0;
  for (const std::int64_t size : sizes) {
    if (chunk < 0 || size > left) {
      ++chunk;
      left = chunk_size;
    }
    left -= size;
    chunk_of.push_back(chunk);
  }
  return chunk_of;
}

std::int64_t packing_waste(const std::vector<std::int64_t>& sizes, std::int64_t chunk_size) {
  std::int64_t waste = 0;
  std::int64_t left = 0;
  for (const std::int64_t size : sizes) {
    if (size > left) {
      waste += left;
      left = chunk_size;
    }
    left -= size;
  }
  return waste + left;
}

Range chunk_sizes(std::int64_t largest, std::int64_t parameters, std::int64_t element_bytes) {
  std::int64_t low_bytes = 32_MiB;
  while (low_bytes < largest * element_bytes) low_bytes *= 2;
  const std::int64_t high_bytes = 3 * low_bytes;
  std::int64_t power = 1;
  while (power < parameters) power *= 2;
  const std::int64_t iterations = std::max<std::int64_t>((std::int64_t{1} << 24) / (2 * power), 1);
  const std::int64_t width = high_bytes - low_bytes;
  const std::int64_t step_bytes = iterations > width / 1024 ? 1024 : width / iterations;
  return {.low = low_bytes / element_bytes,
          .high = high_bytes / element_bytes,
          .step = step_bytes / element_bytes};
}

namespace {

struct TriedSizes {
  Range range;
  std::int64_t smallest = 0;  ///< of the range's steps that hold every parameter
  std::int64_t total = 0;     ///< of all parameters
};

TriedSizes tried_sizes(const std::vector<std::int64_t>& sizes, std::int64_t element_bytes) {
  std::int64_t largest = 0;
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    largest = std::max(largest, size);
    total += size;
  }
  const Range range = chunk_sizes(largest, static_cast<std::int64_t>(sizes.size()), element_bytes);
  return {range, round_up(std::max(largest, range.low), range.step), total};
}

}  // namespace

std::optional<ChunkChoice> choose_chunks(const std::vector<std::int64_t>& sizes,
                                         const std::vector<std::vector<std::int32_t>>& steps,
                                         std::int64_t capacity,
                                         std::int64_t element_bytes,
                                         int ranks,
                                         bool overlap) {
  if (sizes.empty()) return ChunkChoice{};
  const auto [range, smallest, total] = tried_sizes(sizes, element_bytes);
  if (total <= range.low) {
    const std::int64_t size = round_up(total, ranks);
    if (size > capacity) return std::nullopt;
    return ChunkChoice{.chunk_size = size, .blocks = 1};
  }
  const std::int64_t floored = capacity / range.step * range.step;
  const std::int64_t high = std::min(range.high, floored);
  std::optional<ChunkChoice> best;
  double best_cost = 0;
  std::vector<std::int32_t> last_assignment;
  std::int64_t last_blocks = -1;
  std::optional<std::int64_t> count;
  for (std::int64_t size = smallest; size <= high; size += range.step) {
    std::vector<std::int32_t> chunk_of = assign_chunks(sizes, size);
    std::int64_t blocks = floored / size - (overlap ? 2 : 0);
    blocks = std::min<std::int64_t>(blocks, chunk_of.back() + 1);
    if (blocks <= 0) continue;  // the original loops for ever at this size
    // Neighbouring sizes often pack alike. Then the number of moves stays the same.
    if (chunk_of != last_assignment || blocks != last_blocks) {
      std::vector<std::vector<std::int32_t>> chunk_steps;
      chunk_steps.reserve(steps.size());
      for (const std::vector<std::int32_t>& step : steps) {
        std::vector<std::int32_t> chunks;
        for (const std::int32_t parameter : step) {
          const std::int32_t chunk = chunk_of[parameter];
          if (std::find(chunks.begin(), chunks.end(), chunk) == chunks.end()) {
            chunks.push_back(chunk);
          }
        }
        if (!chunks.empty()) chunk_steps.push_back(std::move(chunks));
      }
      count = moves(chunk_steps, blocks);
      last_assignment = std::move(chunk_of);
      last_blocks = blocks;
    }
    if (!count) continue;  // the original pops an empty heap here
    const double cost = static_cast<double>(*count) * static_cast<double>(size);
    if (!best || cost < best_cost) {
      best = ChunkChoice{.chunk_size = size, .blocks = blocks};
      best_cost = cost;
    }
  }
  if (!best) return std::nullopt;
  best->chunk_size = round_up(best->chunk_size, ranks);
  if (best->blocks * best->chunk_size > capacity) return std::nullopt;
  return best;
}

std::int64_t least_waste_chunk_size(const std::vector<std::int64_t>& sizes,
                                    std::int64_t element_bytes) {
  const auto [range, smallest, total] = tried_sizes(sizes, element_bytes);
  if (total <= range.low) return total;
  std::int64_t best = 0;
  std::int64_t best_waste = 0;
  for (std::int64_t size = smallest; size <= range.high; size += range.step) {
    const std::int64_t waste = packing_waste(sizes, size);
    if (best == 0 || waste < best_waste) {
      best = size;
      best_waste = waste;
    }
  }
  return best;
}

Rates a100_rates(int ranks) {
  const double n = ranks;
  return {.cpu_to_gpu = (16.3 * n + 8.7) * 1e9,
          .gpu_to_cpu = (15.8 * n + 2.3) * 1e9,
          .gpu_adam = 50e9 * n,
          .cpu_adam = (1.66 * std::log(n) + 5.15) * 1e9};
}

double optimizer_factor(int moments, std::int64_t element_bytes) {
  return 1.0 + (1.0 + moments) * (4.0 / static_cast<double>(element_bytes));
}

Values values(const Rates& rates, int ranks, double optimizer_factor, std::int64_t element_bytes) {
  const auto parameter_bytes = static_cast<double>(element_bytes);
  constexpr double kMasterBytes = 4;
  Values result;
  result.block = parameter_bytes / rates.cpu_to_gpu + parameter_bytes / rates.gpu_to_cpu;
  result.optimizer = ranks / optimizer_factor *
                     (kMasterBytes / rates.cpu_to_gpu + result.block +
                      parameter_bytes / rates.gpu_to_cpu + 1 / rates.cpu_adam - 1 / rates.gpu_adam);
  return result;
}

}  // namespace elixir::search::original
