// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares random numbers of weights, bit for bit, with the specification in kernels/random.h,
// written again here element by element. Also checks the properties of the distributions.
#include "kernels/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/gradient.h"
#include "kernels/thread_pool.h"
#include "reference.h"

namespace elixir::kernels {
namespace {

using Kind = Distribution::Kind;

constexpr std::uint64_t kKey = 0x0123456789ABCDEFU;

std::array<std::uint32_t, 4> philox(std::uint64_t counter,
                                    std::uint32_t attempt,
                                    std::uint64_t key) {
  std::array<std::uint32_t, 4> c{
      static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), attempt, 0};
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0,
         static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1,
         static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

std::array<std::uint32_t, 4> words_of(std::size_t i, std::uint32_t attempt, std::uint64_t key) {
  return philox(i / 64 * 16 + i % 16, attempt, key);
}

/// Computed in double from the fp32 u. The fp32 value must be close to it.
double exact_normal(std::size_t i, std::uint64_t key) {
  const std::array<std::uint32_t, 4> words = words_of(i, 0, key);
  const std::size_t w = i % 64 / 16;
  const double u = std::fma(static_cast<float>(words[w / 2 * 2] >> 1), 0x1p-31F, 0x1p-32F);
  const double radius = std::sqrt(-2 * std::log(u));
  const double angle =
      static_cast<double>(words[w / 2 * 2 + 1]) * 0x1p-32 * 2 * 3.14159265358979323846;
  return radius * (w % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

std::vector<float> filled(std::size_t n,
                          const Distribution& what,
                          std::uint64_t key = kKey,
                          Isa isa = best_isa(),
                          int threads = 1) {
  ThreadPool pool(threads);
  std::vector<float> out(n);
  fill_random_cpu(out.data(), Element::kFloat32, n, what, key, isa, pool);
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

const Distribution kDistributions[] = {
    {.kind = Kind::kConstant, .first = 0.3},
    {.kind = Kind::kUniform, .first = -0.7, .second = 0.2},
    {.kind = Kind::kNormal, .first = 0.1, .second = 0.02},
    {.kind = Kind::kTruncatedNormal, .first = 0, .second = 1, .low = -0.5, .high = 2}};

TEST(FillRandom, TakesTheWordsOfPhiloxByTheirPublishedAnswers) {
  EXPECT_EQ(philox(0, 0, 0),
            (std::array<std::uint32_t, 4>{0x6627E8D5U, 0xE169C58DU, 0xBC57AC4CU, 0x9B00DBD8U}));
  const std::vector<float> unit = filled(64, {.kind = Kind::kUniform, .first = 0, .second = 1}, 0);
  EXPECT_EQ(unit[0], static_cast<float>(0x6627E8U) * 0x1p-24F);
  EXPECT_EQ(unit[16], static_cast<float>(0xE169C5U) * 0x1p-24F);
  EXPECT_EQ(unit[32], static_cast<float>(0xBC57ACU) * 0x1p-24F);
  EXPECT_EQ(unit[48], static_cast<float>(0x9B00DBU) * 0x1p-24F);
}

TEST(FillRandom, UniformValuesAreTheirWords) {
  const std::vector<float> values = filled(1000, kDistributions[1]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t word = words_of(i, 0, kKey)[i % 64 / 16];
    const float share = static_cast<float>(word >> 8) * 0x1p-24F;
    ASSERT_EQ(values[i], std::fma(0.2F - -0.7F, share, -0.7F)) << i;
  }
}

TEST(FillRandom, NormalValuesAreBoxMullersToThePrecisionOfFp32) {
  const std::vector<float> values =
      filled(100000, {.kind = Kind::kNormal, .first = 0, .second = 1});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = exact_normal(i, kKey);
    // The last term: the angle has 24 bits between two zeros of cosine or sine.
    ASSERT_NEAR(values[i], exact, std::abs(exact) * 3e-7 + 5e-8) << i;
  }
}

TEST(FillRandom, TheBitsAreTheSameForEveryInstructionSetThreadCountAndLength) {
  for (const Distribution& what : kDistributions) {
    const std::vector<float> expected = filled(70001, what, kKey, Isa::kScalar);
    for (const Isa isa : available_isas()) {
      for (const int threads : {1, 2, 5}) {
        EXPECT_TRUE(same_bits(filled(70001, what, kKey, isa, threads), expected))
            << name_of(isa) << " " << threads << " threads, kind " << static_cast<int>(what.kind);
      }
      for (const std::size_t n : {0, 1, 15, 16, 17, 63, 64, 65, 1000}) {
        EXPECT_TRUE(
            same_bits(filled(n, what, kKey, isa),
                      {expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(n)}))
            << name_of(isa) << " " << n;
      }
    }
  }
}

/// Change this only together with the specification: every machine must draw these bits.
TEST(FillRandom, TheBitsAreThoseOfTheSpecification) {
  std::uint64_t digest = 0xCBF29CE484222325U;  // FNV-1a over the words
  for (const Distribution& what : kDistributions) {
    for (const float value : filled(4096, what)) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      digest = (digest ^ bits) * 0x100000001B3U;
    }
  }
  EXPECT_EQ(digest, 9693307475857540515U);
}

TEST(FillRandom, OtherTypesAreRoundedOnceWithoutAPassOverFloats) {
  ThreadPool pool(2);
  for (const Distribution& what : kDistributions) {
    const std::vector<float> wide = filled(1003, what);
    for (const Isa isa : available_isas()) {
      std::vector<std::uint16_t> bfloat16(1003), float16(1003);
      fill_random_cpu(bfloat16.data(), Element::kBFloat16, 1003, what, kKey, isa, pool);
      fill_random_cpu(float16.data(), Element::kFloat16, 1003, what, kKey, isa, pool);
      for (std::size_t i = 0; i < wide.size(); ++i) {
        ASSERT_EQ(bfloat16[i], reference::to_bfloat16(wide[i])) << name_of(isa) << " " << i;
        ASSERT_EQ(float16[i], reference::to_float16(wide[i])) << name_of(isa) << " " << i;
      }
    }
  }
}

TEST(FillRandom, AnotherKeyGivesOtherValues) {
  for (const Distribution& what : kDistributions) {
    if (what.kind == Kind::kConstant) continue;
    const std::vector<float> a = filled(1024, what, kKey), b = filled(1024, what, kKey + 1);
    std::size_t equal = 0;
    for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
    EXPECT_LT(equal, 5U);
  }
}

TEST(FillRandom, MomentsAndTailsAreThoseOfTheDistribution) {
  const std::vector<float> values =
      filled(1 << 20, {.kind = Kind::kNormal, .first = 2, .second = 0.5});
  double sum = 0, squares = 0, cubes = 0, fourths = 0, neighbours = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double z = (values[i] - 2.0) / 0.5;
    sum += z;
    squares += z * z;
    cubes += z * z * z;
    fourths += z * z * z * z;
    if (i >= 16) neighbours += z * (values[i - 16] - 2.0) / 0.5;  // of one pair, half the time
  }
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0, 5e-3);
  EXPECT_NEAR(squares / n, 1, 7e-3);
  EXPECT_NEAR(cubes / n, 0, 2e-2);
  EXPECT_NEAR(fourths / n, 3, 6e-2);
  EXPECT_NEAR(neighbours / n, 0, 5e-3);
  const auto beyond = std::count_if(
      values.begin(), values.end(), [](float v) { return std::abs(v - 2.0F) > 3 * 0.5F; });
  EXPECT_NEAR(static_cast<double>(beyond) / n, 0.0026998, 2e-4);
}

TEST(FillRandom, ATruncatedNormalStaysInItsIntervalAndKeepsItsShape) {
  const Distribution what = kDistributions[3];
  const std::vector<float> values = filled(1 << 18, what);
  double sum = 0;
  for (const float value : values) {
    ASSERT_GE(value, -0.5F);
    ASSERT_LE(value, 2.0F);
    sum += value;
  }
  // (phi(-0.5) - phi(2)) / (Phi(2) - Phi(-0.5))
  EXPECT_NEAR(sum / static_cast<double>(values.size()), 0.445744, 5e-3);
  // A normal value never gets there, so the last attempt is clamped to the border.
  const std::vector<float> far =
      filled(100, {.kind = Kind::kTruncatedNormal, .first = 0, .second = 1, .low = 50, .high = 60});
  EXPECT_TRUE(std::all_of(far.begin(), far.end(), [](float v) { return v == 50.0F; }));
}

}  // namespace
}  // namespace elixir::kernels
