// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The split form of an fp32 master: `upper` is the bf16 parameter (nearest, ties away from zero),
// `lower` the signed rest in units of the fp32's last place:
//   bits(master) = (upper << 16) + lower
// Four bytes for both instead of six, and the same bits as in the separate form, infinities and
// denormals included. Of a NaN only that it is one is kept: upper is quiet, lower 0.

#include <cstddef>
#include <cstdint>

#include "kernels/thread_pool.h"

namespace elixir::kernels {

void split_master_cpu(const float* master,
                      std::uint16_t* upper,
                      std::int16_t* lower,
                      std::size_t n,
                      ThreadPool& pool);
/// The master's own bits again.
void join_master_cpu(const std::uint16_t* upper,
                     const std::int16_t* lower,
                     float* master,
                     std::size_t n,
                     ThreadPool& pool);

}  // namespace elixir::kernels
