// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A kernel that keeps a stream busy for some time.

#include <cstdint>

struct CUstream_st;

namespace elixir::test {

/// One thread that waits for `duration_ns` of the GPU's clock, then writes `value` to `out`
/// (device memory; if nullptr, writes nothing).
void spin_cuda(std::int64_t duration_ns,
               std::uint32_t* out,
               std::uint32_t value,
               CUstream_st* stream);

}  // namespace elixir::test
