// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/gradient.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/thread_pool.h"

namespace elixir::kernels {
namespace {

constexpr std::size_t kPassGrainElements = 16384;
constexpr double kNormEpsilon = 1e-6;

/// Several threads may call this at once; they store the same value.
void report(std::uint32_t* found_infinity) {
  std::atomic_ref<std::uint32_t>(*found_infinity).store(1, std::memory_order_relaxed);
}

}  // namespace

void sum_squares_cpu(const void* gradient,
                     Element type,
                     std::size_t n,
                     float divisor,
                     float* sums,
                     Isa isa,
                     ThreadPool& pool,
                     std::uint32_t* found_infinity) {
  const KernelTable& table = kernel_table(isa);
  pool.parallel_for(norm_blocks(n), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t first = block * kNormBlockElements;
      const std::size_t count = std::min(kNormBlockElements, n - first);
      const void* from = element_at(gradient, type, first);
      sums[block] = table.sum_squares_block(from, type, count, divisor);
      // Squares do not cancel, so a finite sum has finite terms. But finite terms may have an
      // infinite sum.
      if (found_infinity != nullptr && !std::isfinite(sums[block]) &&
          !table.all_finite(from, type, count)) {
        report(found_infinity);
      }
    }
  });
}

void check_finite_cpu(const void* values,
                      Element type,
                      std::size_t n,
                      std::uint32_t* found_infinity,
                      Isa isa,
                      ThreadPool& pool) {
  const KernelTable& table = kernel_table(isa);
  pool.parallel_for(n, kPassGrainElements, [&](std::size_t begin, std::size_t end) {
    if (!table.all_finite(element_at(values, type, begin), type, end - begin)) {
      report(found_infinity);
    }
  });
}

float global_norm(std::span<const float> sums) {
  if (sums.empty()) return 0.0F;
  std::vector<float> tree(sums.begin(), sums.end());
  while (tree.size() > 1) {
    const std::size_t half = std::bit_ceil(tree.size()) / 2;
    for (std::size_t i = 0; i + half < tree.size(); ++i) tree[i] += tree[i + half];
    tree.resize(half);
  }
  return std::sqrt(tree[0]);
}

float clip_factor(float norm, double max_norm) {
  if (!std::isfinite(norm)) return std::numeric_limits<float>::quiet_NaN();
  const double factor = max_norm / (static_cast<double>(norm) + kNormEpsilon);
  return factor > 1.0 ? 1.0F : static_cast<float>(factor);
}

Clip clip_cpu(std::span<const float> sums, double max_norm) {
  const float norm = global_norm(sums);
  return {norm, clip_factor(norm, max_norm), std::isfinite(norm) ? 0U : 1U};
}

void accumulate_cpu(float* sum,
                    const void* gradient,
                    Element type,
                    std::size_t n,
                    Accumulate how,
                    Isa isa,
                    ThreadPool& pool,
                    const BlockSums& squares) {
  const KernelTable& table = kernel_table(isa);
  if (squares.sums != nullptr) {
    // Block by block: what was stored is still in the cache when it is squared.
    pool.parallel_for(norm_blocks(n), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t block = begin; block < end; ++block) {
        const std::size_t first = block * kNormBlockElements;
        const std::size_t count = std::min(kNormBlockElements, n - first);
        table.accumulate(sum + first, element_at(gradient, type, first), type, count, how);
        squares.sums[block] =
            table.sum_squares_block(sum + first, Element::kFloat32, count, squares.divisor);
      }
    });
    return;
  }
  pool.parallel_for(n, kPassGrainElements, [&](std::size_t begin, std::size_t end) {
    table.accumulate(sum + begin, element_at(gradient, type, begin), type, end - begin, how);
  });
}

void sum_parts_cpu(void* to,
                   Element to_type,
                   const void* from,
                   Element type,
                   std::size_t parts,
                   std::size_t n,
                   Accumulate how,
                   Isa isa,
                   ThreadPool& pool) {
  const KernelTable& table = kernel_table(isa);
  pool.parallel_for(n, kPassGrainElements, [&](std::size_t begin, std::size_t end) {
    // The sum of a piece stays in the cache.
    constexpr std::size_t kPieceElements = 4096;
    std::array<float, kPieceElements> sum;
    for (std::size_t first = begin; first < end; first += kPieceElements) {
      const std::size_t count = std::min(kPieceElements, end - first);
      for (std::size_t part = 0; part < parts; ++part) {
        table.accumulate(sum.data(),
                         element_at(from, type, part * n + first),
                         type,
                         count,
                         part == 0 ? Accumulate::kFirst : Accumulate::kAdd);
      }
      if (to_type == Element::kFloat32) {
        table.accumulate(
            static_cast<float*>(to) + first, sum.data(), Element::kFloat32, count, how);
      } else {
        table.convert(element_at(to, to_type, first), to_type, sum.data(), count);
      }
    }
  });
}

void copy_and_sum_squares_cpu(void* to,
                              const void* from,
                              Element type,
                              std::size_t n,
                              const BlockSums& squares,
                              Isa isa,
                              ThreadPool& pool) {
  const KernelTable& table = kernel_table(isa);
  pool.parallel_for(norm_blocks(n), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t first = block * kNormBlockElements;
      const std::size_t count = std::min(kNormBlockElements, n - first);
      const void* source = element_at(from, type, first);
      std::memcpy(element_at(to, type, first), source, count * bytes_of(type));
      squares.sums[block] = table.sum_squares_block(source, type, count, squares.divisor);
    }
  });
}

void convert_cpu(void* out, Element type, const float* in, std::size_t n, ThreadPool& pool) {
  const KernelTable& table = kernel_table(best_isa());
  pool.parallel_for(n, kPassGrainElements, [&](std::size_t begin, std::size_t end) {
    table.convert(element_at(out, type, begin), type, in + begin, end - begin);
  });
}

void upcast_cpu(float* out, const void* in, Element type, std::size_t n, ThreadPool& pool) {
  accumulate_cpu(out, in, type, n, Accumulate::kFirst, best_isa(), pool);
}

}  // namespace elixir::kernels
