// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The split form of an fp32 master: `upper` is the bf16 parameter (nearest, ties away from zero),
// `lower` the signed rest in units of the last place of the fp32:
//   bits(master) = (upper << 16) + lower
// Both take four bytes instead of six. The bits are the same as in the separate form, including
// infinities and denormals. A NaN stays a NaN, but its payload is lost: upper is quiet, lower is 0.

#include <cstddef>
#include <cstdint>

#include "kernels/thread_pool.h"

namespace elixir::kernels {

void split_master_cpu(const float* master,
                      std::uint16_t* upper,
                      std::int16_t* lower,
                      std::size_t n,
                      ThreadPool& pool);
/// Restores the master's bits.
void join_master_cpu(const std::uint16_t* upper,
                     const std::int16_t* lower,
                     float* master,
                     std::size_t n,
                     ThreadPool& pool);

}  // namespace elixir::kernels
