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

TEST(SumParts, HaveTheBitsOfTheCpu) {
  if (!have_gpu()) GTEST_SKIP() << "no GPU";
  std::mt19937 random(13);
  ThreadPool pool(2);
  int compared = 0;
  for (const Element type : {Element::kFloat32, Element::kBFloat16, Element::kFloat16}) {
    for (const Element to_type : {Element::kFloat32, type}) {
      for (const Accumulate how : {Accumulate::kFirst, Accumulate::kAdd}) {
        if (how == Accumulate::kAdd && to_type != Element::kFloat32) continue;
        for (const std::size_t parts : {1U, 2U, 3U, 8U}) {
          for (const std::size_t n : {1U, 4U, 1023U, 65536U, 200000U}) {
            for (const std::size_t distance : {0U, 4U}) {
              const Bytes from = values(parts * n, type, random, pool);
              Bytes to = values(n, to_type, random, pool);
              const DeviceBytes device_from(from, distance);
              const DeviceBytes device_to(to, distance);
              sum_parts_cuda(device_to.as<void>(),
                             to_type,
                             device_from.as<void>(),
                             type,
                             parts,
                             n,
                             how,
                             nullptr);
              sum_parts_cpu(
                  to.data(), to_type, from.data(), type, parts, n, how, Isa::kScalar, pool);
              Bytes device(to.size());
              device_to.read(device);
              ASSERT_TRUE(device == to) << parts << " parts of " << n;
              ++compared;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(compared, 400);
}

}  // namespace
}  // namespace elixir::kernels
