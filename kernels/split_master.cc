// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/split_master.h"

#include "kernels/kernel_table.h"

namespace elixir::kernels {
namespace {

constexpr std::size_t kSplitGrainElements = 16384;

}  // namespace

void split_master_cpu(const float* master,
                      std::uint16_t* upper,
                      std::int16_t* lower,
                      std::size_t n,
                      ThreadPool& pool) {
  const KernelTable& table = kernel_table(best_isa());
  pool.parallel_for(n, kSplitGrainElements, [&](std::size_t begin, std::size_t end) {
    table.split(master + begin, upper + begin, lower + begin, end - begin);
  });
}

void join_master_cpu(const std::uint16_t* upper,
                     const std::int16_t* lower,
                     float* master,
                     std::size_t n,
                     ThreadPool& pool) {
  const KernelTable& table = kernel_table(best_isa());
  pool.parallel_for(n, kSplitGrainElements, [&](std::size_t begin, std::size_t end) {
    table.join(upper + begin, lower + begin, master + begin, end - begin);
  });
}

}  // namespace elixir::kernels
