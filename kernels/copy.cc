// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/copy.h"

#include <cstring>

namespace elixir::kernels {
namespace {

// Large enough that no two threads write to one page.
constexpr std::size_t kCopyGrainBytes = 65536;

}  // namespace

void copy_cpu(void* to, const void* from, std::size_t bytes, ThreadPool& pool) {
  pool.parallel_for(bytes, kCopyGrainBytes, [&](std::size_t begin, std::size_t end) {
    std::memcpy(
        static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
  });
}

}  // namespace elixir::kernels
