// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Converts between an fp32 master and its two halves.
#include "kernels/split_master.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/kernel_table.h"
#include "reference.h"

namespace elixir::kernels {
namespace {

/// Every upper half, with the lower halves at which rounding changes.
std::vector<float> every_upper_half() {
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xABCDU, 0xFFFFU}) {
      values.push_back(reference::from_bits(high << 16 | low));
    }
  }
  return values;
}

TEST(SplitMaster, IsTheBfloat16AndJoinsToTheSameBits) {
  const std::vector<float> values = every_upper_half();
  for (const Isa isa : available_isas()) {
    std::vector<std::uint16_t> upper(values.size());
    std::vector<std::int16_t> lower(values.size());
    std::vector<float> joined(values.size());
    kernel_table(isa).split(values.data(), upper.data(), lower.data(), values.size());
    kernel_table(isa).join(upper.data(), lower.data(), joined.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const reference::Split expected = reference::split(values[i]);
      ASSERT_TRUE(reference::same_bfloat16(upper[i], expected.upper)) << values[i];
      ASSERT_EQ(lower[i], expected.lower) << values[i] << " " << name_of(isa);
      ASSERT_TRUE(reference::same(joined[i], values[i])) << values[i] << " " << name_of(isa);
    }
  }
}

TEST(SplitMaster, KnownValues) {
  const std::vector<float> master = {
      reference::from_bits(0x3F808000),  // a tie goes away from zero: the rest is negative
      reference::from_bits(0xBF808000),
      reference::from_bits(0x3F807FFF),
      reference::from_bits(0x7F7FFFFF),  // the parameter is infinite, the master is not
      reference::from_bits(0x7F800000),
      reference::from_bits(0x7F800001),  // NaN
      reference::from_bits(0x00008000),  // denormal
      reference::from_bits(0x80000000),
  };
  ThreadPool pool(2);
  std::vector<std::uint16_t> upper(master.size());
  std::vector<std::int16_t> lower(master.size());
  split_master_cpu(master.data(), upper.data(), lower.data(), master.size(), pool);
  EXPECT_EQ(
      upper,
      (std::vector<std::uint16_t>{0x3F81, 0xBF81, 0x3F80, 0x7F80, 0x7F80, 0x7FC0, 0x0001, 0x8000}));
  EXPECT_EQ(lower, (std::vector<std::int16_t>{-0x8000, -0x8000, 0x7FFF, -1, 0, 0, -0x8000, 0}));
  std::vector<float> joined(master.size());
  join_master_cpu(upper.data(), lower.data(), joined.data(), master.size(), pool);
  for (std::size_t i = 0; i < master.size(); ++i) {
    EXPECT_TRUE(reference::same(joined[i], master[i])) << i;
  }
}

TEST(SplitMaster, TouchesNothingBeyondTheRange) {
  ThreadPool pool(3);
  for (const std::size_t n : {0U, 1U, 15U, 17U, 50001U}) {
    std::vector<float> master(n + 1, 1.5F), joined(n + 1, 7.0F);
    std::vector<std::uint16_t> upper(n + 1, 9);
    std::vector<std::int16_t> lower(n + 1, 9);
    split_master_cpu(master.data(), upper.data(), lower.data(), n, pool);
    join_master_cpu(upper.data(), lower.data(), joined.data(), n, pool);
    EXPECT_EQ(upper[n], 9);
    EXPECT_EQ(lower[n], 9);
    EXPECT_EQ(joined[n], 7.0F);
    EXPECT_EQ(n == 0 ? 1.5F : joined[n - 1], 1.5F);
  }
}

}  // namespace
}  // namespace elixir::kernels
