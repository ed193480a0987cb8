// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Work of the CUDA device outside a step is finished when the call returns, even if other streams
// are busy. A kernel spins on one of them meanwhile. Skipped without a GPU.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "core/units.h"
#include "runtime/device/device.h"
#include "tests/gpu/spin.h"

namespace elixir::runtime {
namespace {

constexpr std::int64_t kSpinNs = 300'000'000;
constexpr std::size_t kWords = 4096;  // 16 KiB: a pageable copy of it returns before it arrives
constexpr auto kBytes = static_cast<std::int64_t>(kWords * sizeof(std::uint32_t));

using Words = std::vector<std::uint32_t>;

void require_cuda(cudaError_t status) {
  ASSERT_EQ(status, cudaSuccess) << cudaGetErrorString(status);
}

class CopyNow : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no GPU";
    DeviceOptions options;
    options.memory_limit_bytes = 1_GiB;
    options.cpu_threads = 2;
    device_ = make_cuda_device(options);
    memory_ = device_->allocate(schedule::Arena::kDevice, {kBytes}).front();
    require_cuda(cudaStreamCreateWithFlags(&other_, cudaStreamNonBlocking));
    require_cuda(cudaDeviceSynchronize());
  }
  void TearDown() override {
    if (!device_) return;
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaStreamDestroy(other_));
  }
  /// The current content of the device's memory, read on a stream that waits for no other.
  Words on_device() {
    Words seen(kWords);
    EXPECT_EQ(cudaMemcpyAsync(seen.data(), memory_, kBytes, cudaMemcpyDeviceToHost, other_),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(other_), cudaSuccess);
    return seen;
  }

  std::unique_ptr<Device> device_;
  void* memory_ = nullptr;
  cudaStream_t other_ = nullptr;
};

/// cudaMemcpy() would use the legacy stream, wait there, and return.
TEST_F(CopyNow, HasArrivedWhenItReturnsThoughTheLegacyStreamIsBusy) {
  const Words sent(kWords, 0xA5A5A5A5U);
  test::spin_cuda(kSpinNs, nullptr, 0, nullptr);
  device_->copy_now(memory_, sent.data(), kBytes);
  EXPECT_EQ(on_device(), sent);
}

TEST_F(CopyNow, ReadsWhatWorkOnOtherStreamsHasWritten) {
  auto* const words = static_cast<std::uint32_t*>(memory_);
  test::spin_cuda(kSpinNs, words, 77, other_);
  Words received(kWords, 1);
  device_->copy_now(received.data(), memory_, kBytes);
  EXPECT_EQ(received.front(), 77U);
}

TEST_F(CopyNow, DoesNotOvertakeWorkOnOtherStreams) {
  auto* const words = static_cast<std::uint32_t*>(memory_);
  test::spin_cuda(kSpinNs, words, 77, other_);
  const Words sent(kWords, 5);
  device_->copy_now(memory_, sent.data(), kBytes);
  require_cuda(cudaDeviceSynchronize());
  EXPECT_EQ(on_device(), sent);
}

TEST_F(CopyNow, NewBuffersAreClearWhenTheyAreHandedOut) {
  test::spin_cuda(kSpinNs, nullptr, 0, nullptr);
  void* const fresh = device_->allocate(schedule::Arena::kDevice, {kBytes}).front();
  const Words sent(kWords, 9);
  Words seen(kWords);
  require_cuda(cudaMemcpyAsync(fresh, sent.data(), kBytes, cudaMemcpyHostToDevice, other_));
  require_cuda(cudaStreamSynchronize(other_));
  require_cuda(cudaDeviceSynchronize());
  require_cuda(cudaMemcpy(seen.data(), fresh, kBytes, cudaMemcpyDeviceToHost));
  EXPECT_EQ(seen, sent) << "cleared after somebody wrote to it";
}

/// Large enough for several pieces, with an odd end.
TEST_F(CopyNow, MovesLargePiecesBetweenAllKindsOfMemory) {
  constexpr std::size_t kLarge = (std::size_t{41} << 20) + 12;
  constexpr auto kLargeBytes = static_cast<std::int64_t>(kLarge);
  std::vector<char> sent(kLarge);
  for (std::size_t i = 0; i < kLarge; ++i) sent[i] = static_cast<char>(i * 2654435761U >> 13);
  char* const on_gpu =
      static_cast<char*>(device_->allocate(schedule::Arena::kDevice, {kLargeBytes}).front());
  char* const pinned =
      static_cast<char*>(device_->allocate(schedule::Arena::kHost, {kLargeBytes}).front());
  std::vector<char> received(kLarge);
  device_->copy_now(on_gpu, sent.data(), kLargeBytes);      // pageable -> device
  device_->copy_now(received.data(), on_gpu, kLargeBytes);  // device -> pageable
  EXPECT_TRUE(received == sent);
  device_->copy_now(pinned, on_gpu, kLargeBytes);  // device -> pinned
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), pinned));
  std::fill(received.begin(), received.end(), 0);
  device_->copy_now(received.data(), pinned, kLargeBytes);  // pinned -> pageable
  EXPECT_TRUE(received == sent);
  device_->copy_now(on_gpu, received.data() + 1, 3);  // a little, unaligned
  device_->copy_now(pinned, on_gpu, 4);
  EXPECT_TRUE(std::equal(pinned, pinned + 3, sent.begin() + 1) && pinned[3] == sent[3]);
}

}  // namespace
}  // namespace elixir::runtime
