// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/counting_allocator.h"

#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace elixir::replay {
namespace {

class CountingAllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    replay::install_counting_allocator();
    account.clear_limit();
    account.reset_peak();
    ASSERT_EQ(account.charged_bytes(), 0);
  }
  void TearDown() override {
    replay::set_poison(replay::Poison::kNone);
    account.clear_limit();
    EXPECT_EQ(account.charged_bytes(), 0);
  }
  replay::DeviceAccount& account = replay::DeviceAccount::instance();
};

TEST_F(CountingAllocatorTest, ChargesOnlyInsideAScopeAndRoundsUp) {
  const at::Tensor outside = at::empty({1000}, at::kFloat);
  EXPECT_EQ(account.charged_bytes(), 0);
  {
    const replay::ChargeScope scope;
    const at::Tensor one = at::empty({1}, at::kFloat);
    EXPECT_EQ(account.charged_bytes(), 512);
    {
      const at::Tensor more = at::empty({129}, at::kFloat);
      EXPECT_EQ(account.charged_bytes(), 512 + 1024);
    }
    EXPECT_EQ(account.charged_bytes(), 512);
    EXPECT_EQ(account.peak_bytes(), 512 + 1024);
    account.reset_peak();
    EXPECT_EQ(account.peak_bytes(), 512);
    const at::Tensor empty = at::empty({0}, at::kFloat);
    EXPECT_EQ(account.charged_bytes(), 512);
  }
  EXPECT_EQ(account.charged_bytes(), 0);
}

TEST_F(CountingAllocatorTest, WhatIsFreedLaterIsUnchargedAndWhatWasNotChargedIsNot) {
  at::Tensor before = at::empty({100}, at::kFloat);
  at::Tensor charged;
  {
    const replay::ChargeScope scope;
    charged = at::empty({100}, at::kFloat);
    before.reset();
    EXPECT_EQ(account.charged_bytes(), 512);
  }
  EXPECT_EQ(account.charged_bytes(), 512);
  charged.reset();
  EXPECT_EQ(account.charged_bytes(), 0);
}

TEST_F(CountingAllocatorTest, OneByteOverTheLimitThrowsAndChangesNothing) {
  const replay::ChargeScope scope;
  account.set_limit(4096);
  const at::Tensor held = at::empty({3072}, at::kByte);
  EXPECT_THROW(at::empty({1025}, at::kByte), c10::OutOfMemoryError);
  EXPECT_EQ(account.charged_bytes(), 3072);
  EXPECT_EQ(account.peak_bytes(), 3072);
  const at::Tensor fits = at::empty({1024}, at::kByte);
  EXPECT_EQ(account.charged_bytes(), 4096);
}

TEST_F(CountingAllocatorTest, CountsOtherThreadsToo) {
  const replay::ChargeScope scope;
  at::Tensor made;
  std::thread worker([&] { made = at::empty({2048}, at::kByte); });
  worker.join();
  EXPECT_EQ(account.charged_bytes(), 2048);
}

TEST_F(CountingAllocatorTest, PauseStopsCharging) {
  const replay::ChargeScope scope;
  const replay::PauseCharging pause;
  const at::Tensor host = at::empty({2048}, at::kByte);
  EXPECT_EQ(account.charged_bytes(), 0);
}

TEST_F(CountingAllocatorTest, ExplicitChargesShareTheLimit) {
  account.set_limit(1024);
  account.charge(513);
  EXPECT_EQ(account.charged_bytes(), 1024);
  EXPECT_THROW(account.charge(1), c10::OutOfMemoryError);
  account.uncharge(513);
}

TEST_F(CountingAllocatorTest, BlocksAreAligned) {
  for (std::int64_t n = 1; n < 300; n += 7) {
    const at::Tensor tensor = at::empty({n}, at::kByte);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % replay::kBlockAlignmentBytes,
              0U);
  }
}

TEST_F(CountingAllocatorTest, PoisonFillsFreshMemoryWithNaN) {
  replay::set_poison(replay::Poison::kNaN);
  const replay::ChargeScope scope;
  const at::Tensor fresh = at::empty({300}, at::kFloat);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(std::isnan(fresh.data_ptr<float>()[i]));
}

TEST_F(CountingAllocatorTest, MatrixLibrariesAcceptItsBlocks) {
  const replay::ChargeScope scope;
  const at::Tensor a = at::full({64, 64}, 2.0, at::kBFloat16);
  const at::Tensor product = at::mm(a, a);
  EXPECT_EQ(product.to(at::kFloat).data_ptr<float>()[0], 256.0F);
}

}  // namespace
}  // namespace elixir::replay
