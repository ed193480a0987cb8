// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/random.h"

#include "kernels/kernel_table.h"
#include "kernels/thread_pool.h"

namespace elixir::kernels {
namespace {

constexpr std::size_t kFillGrainElements = 256 * kRandomBlockElements;

}  // namespace

void fill_random_cpu(void* out,
                     Element type,
                     std::size_t n,
                     const Distribution& what,
                     std::uint64_t key,
                     Isa isa,
                     ThreadPool& pool) {
  const KernelTable& table = kernel_table(isa);
  pool.parallel_for(n, kFillGrainElements, [&](std::size_t begin, std::size_t end) {
    table.fill_random(element_at(out, type, begin), type, begin, end - begin, what, key);
  });
}

}  // namespace elixir::kernels
