// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Arenas that CUDA locks: GPUs access them at the host's addresses. Skipped without a GPU.
#include "kernels/host_arena.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "device_problem.h"
#include "kernels/cuda_kernels.h"
#include "kernels/thread_pool.h"

namespace elixir::kernels {
namespace {

constexpr std::size_t kMi = std::size_t{1} << 20;

TEST(CudaHostArena, IsLockedAndWrittenByTheGpuInPlace) {
  if (!have_gpu()) GTEST_SKIP() << "no GPU";
  ThreadPool pool(2);
  char* where = nullptr;
  {
    HostArena arena(33 * kMi + 4096, &pool, &cuda_page_lock());
    ASSERT_TRUE(arena.locked()) << arena.warning();
    where = arena.data();
    cudaPointerAttributes attributes{};
    require_cuda(cudaPointerGetAttributes(&attributes, where + 20 * kMi));
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    EXPECT_EQ(attributes.devicePointer, where + 20 * kMi);
    void* part = arena.carve(kMi, 256);
    poison_cuda(part, kMi, nullptr);
    require_cuda(cudaDeviceSynchronize());
    const auto* bytes = static_cast<const std::uint8_t*>(part);
    EXPECT_TRUE(std::all_of(bytes, bytes + kMi, [](std::uint8_t b) { return b == 0xFF; }));
    EXPECT_EQ(arena.data()[2 * kMi], 0);
  }
  cudaPointerAttributes attributes{};
  require_cuda(cudaPointerGetAttributes(&attributes, where));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered) << "unlocked with the arena";
}

TEST(CudaHostArena, SaysWhyMemoryIsNotLocked) {
  if (!have_gpu()) GTEST_SKIP() << "no GPU";
  ThreadPool pool(2);
  HostArena arena(kMi, &pool, &cuda_page_lock());
  ASSERT_TRUE(arena.locked()) << arena.warning();
  std::string reason;
  EXPECT_FALSE(cuda_page_lock().lock(arena.data(), kMi, reason)) << "a second time";
  EXPECT_NE(reason, "");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "a refusal leaves no error behind";
}

}  // namespace
}  // namespace elixir::kernels
