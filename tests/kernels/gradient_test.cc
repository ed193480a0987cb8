// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares norms, accumulation and conversions on the CPU with the reference, bit for bit.
#include "kernels/gradient.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/kernel_table.h"
#include "kernels/thread_pool.h"
#include "reference.h"

namespace elixir::kernels {
namespace {

struct Gradients {
  std::vector<float> values;  // as the kernel reads them
  std::vector<float> stored32;
  std::vector<std::uint16_t> stored16;
  Element type;
  [[nodiscard]] const void* data(std::size_t offset = 0) const {
    return type == Element::kFloat32 ? static_cast<const void*>(stored32.data() + offset)
                                     : static_cast<const void*>(stored16.data() + offset);
  }
};

Gradients random_gradients(std::size_t n, Element type, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Gradients g;
  g.type = type;
  for (std::size_t i = 0; i < n; ++i) {
    const float value = normal(random) * (i % 97 == 0 ? 1e-30F : 1e-2F);
    if (type == Element::kFloat32) {
      g.stored32.push_back(value);
      g.values.push_back(value);
    } else if (type == Element::kBFloat16) {
      g.stored16.push_back(reference::to_bfloat16(value));
      g.values.push_back(reference::bfloat16_value(g.stored16.back()));
    } else {
      g.stored16.push_back(reference::to_float16(value));
      g.values.push_back(reference::float16_value(g.stored16.back()));
    }
  }
  return g;
}

const Element kTypes[] = {Element::kFloat32, Element::kBFloat16, Element::kFloat16};

TEST(SumSquares, FollowsTheSpecifiedOrderForEveryLengthTypeThreadCountAndInstructionSet) {
  for (const Element type : kTypes) {
    for (const std::size_t n : {std::size_t{1},
                                std::size_t{15},
                                std::size_t{16},
                                std::size_t{33},
                                std::size_t{1023},
                                std::size_t{1024},
                                std::size_t{1025},
                                std::size_t{5000},
                                std::size_t{65536},
                                std::size_t{65537},
                                std::size_t{200001}}) {
      const Gradients g = random_gradients(n, type, static_cast<std::uint32_t>(n));
      for (const float divisor : {1.0F, 3.0F}) {
        std::vector<float> expected;
        for (std::size_t at = 0; at < n; at += kNormBlockElements) {
          const auto first = g.values.begin() + static_cast<std::ptrdiff_t>(at);
          const auto last =
              g.values.begin() + static_cast<std::ptrdiff_t>(std::min(n, at + kNormBlockElements));
          expected.push_back(reference::block_sum_squares({first, last}, divisor));
        }
        ASSERT_EQ(norm_blocks(n), expected.size());
        for (const Isa isa : available_isas()) {
          for (const int threads : {1, 3}) {
            ThreadPool pool(threads);
            std::vector<float> sums(expected.size(), -1.0F);
            sum_squares_cpu(g.data(), type, n, divisor, sums.data(), isa, pool);
            for (std::size_t i = 0; i < sums.size(); ++i) {
              ASSERT_EQ(reference::bits(sums[i]), reference::bits(expected[i]))
                  << "n " << n << " block " << i << " isa " << static_cast<int>(isa);
            }
          }
        }
      }
    }
  }
}

TEST(SumSquares, ShowsInfinityAndNaN) {
  ThreadPool pool(2);
  for (const Isa isa : available_isas()) {
    std::vector<float> g(70000, 0.5F), sums(2);
    g[69999] = std::numeric_limits<float>::infinity();
    sum_squares_cpu(g.data(), Element::kFloat32, g.size(), 1.0F, sums.data(), isa, pool);
    EXPECT_TRUE(std::isfinite(sums[0]));
    EXPECT_TRUE(std::isinf(sums[1]));
    g[3] = std::numeric_limits<float>::quiet_NaN();
    sum_squares_cpu(g.data(), Element::kFloat32, g.size(), 1.0F, sums.data(), isa, pool);
    EXPECT_TRUE(std::isnan(sums[0]));
  }
}

TEST(SumSquares, ReportsWhatIsNotFiniteAndNoOverflow) {
  ThreadPool pool(2);
  for (const Isa isa : available_isas()) {
    for (const Element type : kTypes) {
      Gradients g = random_gradients(140001, type, 8);
      std::vector<float> sums(norm_blocks(140001));
      const auto put = [&](std::size_t i, float value) {
        if (type == Element::kFloat32) g.stored32[i] = value;
        if (type == Element::kBFloat16) g.stored16[i] = reference::to_bfloat16(value);
        if (type == Element::kFloat16) g.stored16[i] = reference::to_float16(value);
      };
      const auto check = [&](std::uint32_t expected) {
        std::uint32_t by_norm = 0, by_check = 0;
        sum_squares_cpu(g.data(), type, 140001, 1.0F, sums.data(), isa, pool, &by_norm);
        check_finite_cpu(g.data(), type, 140001, &by_check, isa, pool);
        EXPECT_EQ(by_norm, expected) << name_of(isa);
        EXPECT_EQ(by_check, expected) << name_of(isa);
      };
      check(0);
      put(70001, type == Element::kFloat16 ? 65504.0F : 3e38F);
      check(0);
      EXPECT_EQ(std::isfinite(sums[1]), type == Element::kFloat16);
      for (const std::size_t at : {std::size_t{0}, std::size_t{69999}, std::size_t{140000}}) {
        put(at, -std::numeric_limits<float>::infinity());
        check(1);
        put(at, std::numeric_limits<float>::quiet_NaN());
        check(1);
        put(at, 1.0F);
        check(0);
      }
    }
  }
}

TEST(GlobalNorm, AddsInTheSpecifiedTree) {
  EXPECT_EQ(global_norm({}), 0.0F);
  const std::vector<float> one = {9.0F};
  EXPECT_EQ(global_norm(one), 3.0F);
  // Five sums: h = 4 joins 0 and 4; then h = 2 joins 0 with 2 and 1 with 3; then 0 with 1.
  const std::vector<float> five = {1.0F, 1e-8F, 3.0F, 1e8F, 0.7F};
  const float zero = (five[0] + five[4]) + five[2], second = five[1] + five[3];
  EXPECT_EQ(global_norm(five), std::sqrt(zero + second));
}

TEST(ClipFactor, ScalesDownOnlyAndIsNaNForANormThatIsNotFinite) {
  EXPECT_EQ(clip_factor(0.5F, 1.0), 1.0F);
  EXPECT_EQ(clip_factor(0.0F, 1.0), 1.0F);
  EXPECT_EQ(clip_factor(4.0F, 1.0), static_cast<float>(1.0 / (4.0 + 1e-6)));
  EXPECT_TRUE(std::isnan(clip_factor(std::numeric_limits<float>::infinity(), 1.0)));
  EXPECT_TRUE(std::isnan(clip_factor(std::numeric_limits<float>::quiet_NaN(), 1.0)));
}

TEST(Accumulate, ConvertsFirstAndAddsLater) {
  for (const Element type : kTypes) {
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{1}, std::size_t{37}, std::size_t{100003}}) {
      for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
        const Gradients g = random_gradients(n + offset, type, 3);
        for (const Isa isa : available_isas()) {
          ThreadPool pool(2);
          std::vector<float> sum(n + 1, 7.0F);
          accumulate_cpu(sum.data(), g.data(offset), type, n, Accumulate::kFirst, isa, pool);
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(reference::bits(sum[i]), reference::bits(g.values[i + offset]));
          }
          accumulate_cpu(sum.data(), g.data(offset), type, n, Accumulate::kAdd, isa, pool);
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(sum[i], g.values[i + offset] + g.values[i + offset]);
          }
          ASSERT_EQ(sum[n], 7.0F) << "one past the end is untouched";
        }
      }
    }
  }
}

/// Whatever bits the sums of squares have alone, they have when a pass that stores makes them.
TEST(Accumulate, SumsTheSquaresOfWhatItStores) {
  for (const Element type : kTypes) {
    for (const std::size_t n : {0U, 1U, 1023U, 65535U, 65536U, 65537U, 200003U}) {
      for (const float divisor : {1.0F, 2.0F, 3.0F}) {
        const Gradients g = random_gradients(n + 1, type, 5);
        for (const Isa isa : available_isas()) {
          ThreadPool pool(3);
          std::vector<float> sum(n), expected_sum(n);
          std::vector<float> squares(norm_blocks(n), -1.0F), expected(norm_blocks(n), -2.0F);
          for (const Accumulate how : {Accumulate::kFirst, Accumulate::kAdd}) {
            accumulate_cpu(
                sum.data(), g.data(1), type, n, how, isa, pool, {squares.data(), divisor});
            accumulate_cpu(expected_sum.data(), g.data(1), type, n, how, isa, pool);
            sum_squares_cpu(
                expected_sum.data(), Element::kFloat32, n, divisor, expected.data(), isa, pool);
            ASSERT_EQ(sum, expected_sum);
            ASSERT_EQ(squares, expected);
          }
          std::vector<std::uint8_t> copy(n * bytes_of(type) + 1, 0xA5);
          copy_and_sum_squares_cpu(
              copy.data(), g.data(1), type, n, {squares.data(), divisor}, isa, pool);
          sum_squares_cpu(g.data(1), type, n, divisor, expected.data(), isa, pool);
          ASSERT_EQ(squares, expected);
          ASSERT_TRUE(n == 0 || std::memcmp(copy.data(), g.data(1), n * bytes_of(type)) == 0);
          ASSERT_EQ(copy.back(), 0xA5) << "one past the end is untouched";
        }
      }
    }
  }
}

TEST(Clip, HoldsBackForANormThatIsNotFinite) {
  const std::vector<float> sums = {9.0F, 16.0F};
  const Clip clip = clip_cpu(sums, 1.0);
  EXPECT_EQ(clip.norm, 5.0F);
  EXPECT_EQ(clip.factor, clip_factor(5.0F, 1.0));
  EXPECT_EQ(clip.held_back, 0U);
  const std::vector<float> bad = {9.0F, std::numeric_limits<float>::infinity()};
  EXPECT_EQ(clip_cpu(bad, 1.0).held_back, 1U);
  EXPECT_TRUE(std::isnan(clip_cpu(bad, 1.0).factor));
}

/// Floats around every point where rounding to 16 bits changes, and random ones.
std::vector<float> rounding_cases() {
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 0x10000; high += 7) {
    for (const std::uint32_t low : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      values.push_back(reference::from_bits(high << 16 | low));
    }
  }
  for (std::uint32_t high = 0; high < 0x80000; high += 5) {  // halves of float16's unit
    for (const std::uint32_t low : {0U, 0x0FFFU, 0x1000U, 0x1001U}) {
      values.push_back(reference::from_bits(high << 13 | low));
    }
  }
  for (int i = 0; i < 70000; ++i) {  // float16 denormals and their halves
    values.push_back(std::ldexp(static_cast<float>(i % 2100), -25));
    values.push_back(-std::ldexp(static_cast<float>(i), -27));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    values.push_back(reference::from_bits(static_cast<std::uint32_t>(random())));
  }
  return values;
}

TEST(Convert, RoundsBfloat16ToNearestTiesAwayAndFloat16ToNearestEven) {
  const std::vector<float> values = rounding_cases();
  std::vector<std::uint16_t> out(values.size());
  for (const Isa isa : available_isas()) {
    kernel_table(isa).convert(out.data(), Element::kBFloat16, values.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(reference::same_bfloat16(out[i], reference::to_bfloat16(values[i])))
          << values[i] << " isa " << static_cast<int>(isa) << " gives " << out[i];
    }
    kernel_table(isa).convert(out.data(), Element::kFloat16, values.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(reference::same_float16(out[i], reference::to_float16(values[i])))
          << values[i] << " isa " << static_cast<int>(isa) << " gives " << out[i];
    }
  }
}

TEST(Convert, KnownBfloat16Values) {
  ThreadPool pool(1);
  const std::vector<float> in = {
      reference::from_bits(0x3F808000),  // a tie: rounds away from zero, not to even
      reference::from_bits(0xBF808000),
      reference::from_bits(0x3F807FFF),
      reference::from_bits(0x7F7FFFFF),  // rounds to infinity
      reference::from_bits(0x7F800000),
      reference::from_bits(0x7F800001),  // NaN with a small payload stays NaN
      reference::from_bits(0x7FFFFFFF),  // NaN that would become -0 if half a unit were added
      reference::from_bits(0x00008000),  // half of the smallest denormal
      reference::from_bits(0x00007FFF),
  };
  std::vector<std::uint16_t> out(in.size());
  convert_cpu(out.data(), Element::kBFloat16, in.data(), in.size(), pool);
  EXPECT_EQ(out[0], 0x3F81);
  EXPECT_EQ(out[1], 0xBF81);
  EXPECT_EQ(out[2], 0x3F80);
  EXPECT_EQ(out[3], 0x7F80);
  EXPECT_EQ(out[4], 0x7F80);
  EXPECT_GT(out[5] & 0x7FFF, 0x7F80);
  EXPECT_GT(out[6] & 0x7FFF, 0x7F80);
  EXPECT_EQ(out[7], 0x0001);
  EXPECT_EQ(out[8], 0x0000);
}

TEST(Upcast, IsExactForEvery16BitValue) {
  ThreadPool pool(3);
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<float> out(all.size());
  for (const Isa isa : available_isas()) {
    accumulate_cpu(
        out.data(), all.data(), Element::kBFloat16, all.size(), Accumulate::kFirst, isa, pool);
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE(reference::same(out[i], reference::bfloat16_value(all[i]))) << i;
    }
    accumulate_cpu(
        out.data(), all.data(), Element::kFloat16, all.size(), Accumulate::kFirst, isa, pool);
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE(reference::same(out[i], reference::float16_value(all[i]))) << i;
    }
  }
}

TEST(Convert, RoundTripOfUpcastsIsTheIdentity) {
  ThreadPool pool(2);
  for (const Element type : {Element::kBFloat16, Element::kFloat16}) {
    std::vector<std::uint16_t> all, back(65536);
    for (std::size_t i = 0; i < 65536; ++i) all.push_back(static_cast<std::uint16_t>(i));
    std::vector<float> wide(all.size());
    upcast_cpu(wide.data(), all.data(), type, all.size(), pool);
    convert_cpu(back.data(), type, wide.data(), wide.size(), pool);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(wide[i])) continue;
      ASSERT_EQ(back[i], all[i]);
    }
  }
}

}  // namespace
}  // namespace elixir::kernels
