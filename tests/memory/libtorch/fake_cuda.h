// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A CUDA runtime without a GPU, with what LibTorch's caching allocator needs: segments, address
// ranges and pages are numbers, and events complete when the test says so. In an executable that
// links them, its functions replace those of libcudart, so that the real allocator of libc10_cuda
// runs on any machine.

#include <cstdint>

#include "memory/libtorch/address_heap.h"

namespace elixir::tests::fake_cuda {

inline constexpr std::int64_t kTotalBytes = std::int64_t{80} << 30;

/// Resets everything. The device then has `capacity_bytes` and chooses addresses by `seed`.
void reset(std::int64_t capacity_bytes, std::uint64_t seed);
/// Completes the events recorded so far on the stream.
void complete(std::uint64_t stream);

}  // namespace elixir::tests::fake_cuda
