// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Operations on the host's threads whose updates overlap. Without LibTorch, so that ThreadSanitizer
// sees everything: two passes over the same moments that run at once are a race.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/adam.h"
#include "kernels/gradient.h"
#include "runtime/device/stream_operations.h"

namespace elixir::runtime {
namespace {

using kernels::AdamArrays;
using kernels::AdamPass;
using kernels::Element;

/// A chunk.
class Parameters {
 public:
  explicit Parameters(std::size_t n) : n_(n) {
    for (std::vector<float>* values : {&master_, &gradient_, &moment1_, &moment2_}) {
      values->resize(n);
    }
    for (std::size_t i = 0; i < n; ++i) {
      master_[i] = static_cast<float>(i % 17) - 8;
      gradient_[i] = static_cast<float>(i % 13) - 6;
    }
  }
  [[nodiscard]] AdamArrays arrays(AdamPass pass) {
    AdamArrays arrays{};
    arrays.master = master_.data();
    arrays.moment1 = moment1_.data();
    arrays.moment2 = moment2_.data();
    arrays.gradient = gradient_.data();
    arrays.gradient_type = arrays.parameter_type = Element::kFloat32;
    arrays.n = n_;
    arrays.pass = pass;
    return arrays;
  }
  friend bool operator==(const Parameters&, const Parameters&) = default;

 private:
  std::size_t n_;
  std::vector<float> master_, gradient_, moment1_, moment2_;
};

std::unique_ptr<HostOperations> operations_for(HostUpdates updates, int threads = 3) {
  return make_host_operations({.threads = threads, .updates = updates});
}

/// Steps of passes that depend on each other, over chunks of different sizes.
std::vector<Parameters> trained(HostUpdates updates) {
  const auto operations = operations_for(updates);
  std::vector<Parameters> chunks;
  for (const std::size_t n : {1U, 30'000U, 9'000U, 100'000U, 8'192U}) chunks.emplace_back(n);
  std::vector<std::uint32_t> reports(chunks.size());
  std::vector<int> ended;
  for (std::int64_t step = 1; step <= 8; ++step) {
    const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, step, 1, 1.0F);
    const kernels::Clip clip{.norm = 2.0F, .factor = 0.5F, .held_back = 0};
    for (const AdamPass pass : {AdamPass::kParameters, AdamPass::kMoments, AdamPass::kWhole}) {
      for (std::size_t c = 0; c < chunks.size(); ++c) {
        operations->adam(chunks[c].arrays(pass),
                         scalars,
                         step % 2 == 0 ? &clip : nullptr,
                         pass == AdamPass::kMoments ? nullptr : &reports[c]);
      }
      operations->when_ended([&ended] { ended.push_back(1); });
    }
  }
  operations->wait_idle();
  EXPECT_EQ(ended.size(), 24U);
  EXPECT_EQ(reports, std::vector<std::uint32_t>(chunks.size()));
  return chunks;
}

TEST(HostOperations, UpdatesThatOverlapGiveTheSameBits) {
  EXPECT_TRUE(trained(HostUpdates::kOverlap) == trained(HostUpdates::kOneByOne));
}

/// Threads do not begin with the same elements in both passes, and there are more than cores, so
/// that some are held up with a piece.
TEST(HostOperations, AnUpdateOfMomentsUnderWayWaitsForThem) {
  constexpr std::size_t kElements = 60'000;
  const auto trained = [](HostUpdates updates) {
    const auto operations = operations_for(updates, /*threads=*/8);
    Parameters chunk(kElements);
    for (std::int64_t step = 1; step <= 150; ++step) {
      const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, step, 1, 1.0F);
      const AdamArrays all = chunk.arrays(AdamPass::kWhole);
      operations->adam(all, scalars, nullptr, nullptr);
      operations->adam(kernels::slice(all, kElements / 3, kElements), scalars, nullptr, nullptr);
    }
    operations->wait_idle();
    return chunk;
  };
  EXPECT_TRUE(trained(HostUpdates::kOverlap) == trained(HostUpdates::kOneByOne));
}

TEST(HostOperations, WhatIsNotAnUpdateWaitsForUpdates) {
  const auto operations = operations_for(HostUpdates::kOverlap);
  const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, 1, 1, 1.0F);
  Parameters expected(200'000);
  kernels::adam_cpu(expected.arrays(AdamPass::kWhole), scalars, kernels::best_isa());
  for (int round = 0; round < 20; ++round) {
    Parameters mine(200'000);
    operations->adam(mine.arrays(AdamPass::kWhole), scalars, nullptr, nullptr);
    std::vector<float> master(200'000);
    operations->copy(master.data(), mine.arrays(AdamPass::kWhole).master, 200'000 * sizeof(float));
    const float* const wanted = expected.arrays(AdamPass::kWhole).master;
    ASSERT_TRUE(std::equal(master.begin(), master.end(), wanted));
    operations->adam(mine.arrays(AdamPass::kWhole), scalars, nullptr, nullptr);
    operations->poison(mine.arrays(AdamPass::kWhole).master, 200'000 * sizeof(float));
    operations->wait_idle();
    const float* const spoilt = mine.arrays(AdamPass::kWhole).master;
    ASSERT_TRUE(std::all_of(spoilt, spoilt + 200'000, [](float value) { return value != value; }));
  }
}

TEST(HostOperations, AnEndIsTheEndOfAllThatCameBefore) {
  for (const HostUpdates updates : {HostUpdates::kOneByOne, HostUpdates::kOverlap}) {
    const auto operations = operations_for(updates);
    Parameters chunk(500'000), small(10);
    Parameters expected(500'000);
    const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, 1, 1, 1.0F);
    kernels::adam_cpu(expected.arrays(AdamPass::kWhole), scalars, kernels::best_isa());
    std::atomic<bool> same{false};
    operations->adam(chunk.arrays(AdamPass::kWhole), scalars, nullptr, nullptr);
    operations->adam(small.arrays(AdamPass::kWhole), scalars, nullptr, nullptr);
    operations->when_ended([&] { same.store(chunk == expected); });
    operations->wait_idle();
    EXPECT_TRUE(same.load());
  }
}

/// Clipping that holds updates back leaves states, and writes parameters from them.
TEST(HostOperations, UpdatesThatAreHeldBackWriteParametersAlone) {
  const auto operations = operations_for(HostUpdates::kOverlap);
  const kernels::Clip clip{.norm = 0.0F, .factor = 1.0F, .held_back = 1};
  Parameters chunk(100'000);
  const Parameters before = chunk;
  std::vector<std::uint16_t> parameters(100'000, 0xFFFF);
  AdamArrays arrays = chunk.arrays(AdamPass::kWhole);
  arrays.parameter = parameters.data();
  arrays.parameter_type = Element::kBFloat16;
  operations->adam(arrays, kernels::make_adam_scalars({}, 1, 1, 1.0F), &clip, nullptr);
  operations->wait_idle();
  EXPECT_TRUE(chunk == before);
  EXPECT_EQ(parameters[0], 0xC100) << "-8";
}

}  // namespace
}  // namespace elixir::runtime
