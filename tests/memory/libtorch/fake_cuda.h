// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A CUDA runtime without a GPU, as far as LibTorch's caching allocator needs one: segments, address
// ranges and pages are numbers, events complete when the test says so. Its functions stand before
// those of libcudart in the executable that links them, so that the real allocator of libc10_cuda
// runs on any machine.

#include <cstdint>

#include "memory/libtorch/address_heap.h"

namespace elixir::tests::fake_cuda {

inline constexpr std::int64_t kTotalBytes = std::int64_t{80} << 30;

/// Forgets everything; from now on the device has `capacity_bytes` and gives addresses by `seed`.
void reset(std::int64_t capacity_bytes, std::uint64_t seed);
/// Events recorded so far on the stream have completed.
void complete(std::uint64_t stream);

}  // namespace elixir::tests::fake_cuda
