// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Sums over ranks have the same bits on the GPU as on the CPU. Skipped without a GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "device_problem.h"
#include "kernels/cuda_kernels.h"
#include "kernels/thread_pool.h"

namespace elixir::kernels {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Finite values of `type`, of very different magnitudes.
Bytes values(std::size_t n, Element type, std::mt19937& random, ThreadPool& pool) {
  std::vector<float> wide(n);
  std::normal_distribution<float> normal;
  for (float& value : wide) value = normal(random) * static_cast<float>(1 << (random() % 12));
  Bytes stored(n * bytes_of(type));
  if (type == Element::kFloat32) {
    std::memcpy(stored.data(), wide.data(), stored.size());
  } else {
    convert_cpu(stored.data(), type, wide.data(), n, pool);
  }
  return stored;
}

/// Calls visit(type of the parts, type of the sum, how) for all that there are: only sums in fp32
/// are added to.
template <class Visit>
void for_each_form(const Visit& visit) {
  for (const Element type : {Element::kFloat32, Element::kBFloat16, Element::kFloat16}) {
    for (const Element to_type : {Element::kFloat32, type}) {
      visit(type, to_type, Accumulate::kFirst);
      if (to_type == Element::kFloat32) visit(type, to_type, Accumulate::kAdd);
    }
  }
}

TEST(SumParts, HaveTheBitsOfTheCpu) {
  if (!have_gpu()) GTEST_SKIP() << "no GPU";
  std::mt19937 random(13);
  ThreadPool pool(2);
  int compared = 0;
  for_each_form([&](Element type, Element to_type, Accumulate how) {
    for (const std::size_t parts : {1U, 2U, 3U, 8U}) {
      for (const std::size_t n : {1U, 4U, 1023U, 65536U, 200000U}) {
        for (const std::size_t distance : {0U, 4U}) {
          const Bytes from = values(parts * n, type, random, pool);
          Bytes to = values(n, to_type, random, pool);
          const DeviceBytes device_from(from, distance);
          const DeviceBytes device_to(to, distance);
          sum_parts_cuda(
              device_to.as<void>(), to_type, device_from.as<void>(), type, parts, n, how, nullptr);
          sum_parts_cpu(to.data(), to_type, from.data(), type, parts, n, how, Isa::kScalar, pool);
          Bytes device(to.size());
          device_to.read(device);
          ASSERT_TRUE(device == to) << parts << " parts of " << n;
          ++compared;
        }
      }
    }
  });
  EXPECT_EQ(compared, 400);
}

/// Parts of an array of `n` elements, with gaps, each with a place in `sums` and a divisor.
std::vector<SummedPart> parts_with_gaps(std::size_t n, float* sums) {
  std::vector<SummedPart> parts;
  std::size_t used = 0;
  const auto add = [&](std::size_t first, std::size_t elements, float divisor) {
    parts.push_back({first, elements, {sums + used, divisor}});
    used += norm_blocks(elements);
  };
  add(0, 3 * kNormBlockElements, 1.0F);
  add(3 * kNormBlockElements + 128, 4099, 3.0F);
  for (std::size_t i = 0; i < 120; ++i) add(4 * kNormBlockElements + 64 * i, 60, 2.0F);
  add(5 * kNormBlockElements + 2, n - 5 * kNormBlockElements - 2, 1.0F);
  return parts;
}

TEST(SumParts, MakeTheSumsOfSquaresOfTheCpuInTheSamePass) {
  if (!have_gpu()) GTEST_SKIP() << "no GPU";
  constexpr std::size_t kRanks = 3, kElements = 7 * kNormBlockElements + 20, kSums = 200;
  std::mt19937 random(14);
  ThreadPool pool(2);
  int compared = 0;
  for_each_form([&](Element type, Element to_type, Accumulate how) {
    const Bytes from = values(kRanks * kElements, type, random, pool);
    const Bytes before = values(kElements, to_type, random, pool);
    const DeviceBytes device_from(from, 0), device_to(before, 0);
    const DeviceBytes device_sums(Bytes(kSums * sizeof(float)), 0);
    const std::vector<SummedPart> on_device = parts_with_gaps(kElements, device_sums.as<float>());
    sum_parts_cuda(device_to.as<void>(),
                   to_type,
                   device_from.as<void>(),
                   type,
                   kRanks,
                   kElements,
                   how,
                   nullptr,
                   on_device);
    Bytes sum = before, device(before.size());
    sum_parts_cpu(
        sum.data(), to_type, from.data(), type, kRanks, kElements, how, Isa::kScalar, pool);
    device_to.read(device);
    std::vector<float> sums(kSums);
    Bytes device_sums_read(kSums * sizeof(float));
    device_sums.read(device_sums_read);
    const std::size_t width = bytes_of(to_type);
    Bytes expected = before;  // in the gaps
    for (const SummedPart& part : parts_with_gaps(kElements, sums.data())) {
      const std::size_t first = part.first_element * width, bytes = part.elements * width;
      std::memcpy(expected.data() + first, sum.data() + first, bytes);
      sum_squares_cpu(sum.data() + first,
                      to_type,
                      part.elements,
                      part.squares.divisor,
                      part.squares.sums,
                      Isa::kScalar,
                      pool);
    }
    EXPECT_TRUE(device == expected);
    EXPECT_EQ(std::memcmp(device_sums_read.data(), sums.data(), device_sums_read.size()), 0);
    ++compared;
  });
  EXPECT_EQ(compared, 10);
}

}  // namespace
}  // namespace elixir::kernels
