// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares the cross entropy on the GPU with that on the CPU, which is compared with fp64
// (tests/kernels). Skipped without a GPU.
#include "kernels/cross_entropy.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "device_problem.h"
#include "kernels/cuda_kernels.h"

namespace elixir::kernels {
namespace {

using Bytes = std::vector<std::uint8_t>;

template <class T>
Bytes bytes_of_vector(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Stores fp32 values in a type, by cutting off bits: any logits will do.
Bytes stored_as(const std::vector<float>& values, Element type) {
  if (type == Element::kFloat32) return bytes_of_vector(values);
  std::vector<std::uint16_t> halves;
  for (const float value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (type == Element::kBFloat16) {
      halves.push_back(static_cast<std::uint16_t>(bits >> 16));
    } else {
      const std::uint32_t exponent = (bits >> 23) & 0xFFU;
      const bool tiny = exponent < 127 - 14;
      const std::uint32_t magnitude =
          tiny ? 0 : ((exponent - 127 + 15) << 10) | ((bits >> 13) & 0x3FFU);
      halves.push_back(static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | magnitude));
    }
  }
  return bytes_of_vector(halves);
}

float value_at(const Bytes& stored, Element type, std::size_t i) {
  if (type == Element::kFloat32) {
    float value = 0;
    std::memcpy(&value, stored.data() + i * sizeof value, sizeof value);
    return value;
  }
  std::uint16_t half = 0;
  std::memcpy(&half, stored.data() + i * sizeof half, sizeof half);
  if (type == Element::kBFloat16) {
    const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  const int exponent = half >> 10 & 0x1F;
  const int fraction = half & 0x3FF;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(fraction), -24)
                              : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return (half & 0x8000U) != 0 ? -magnitude : magnitude;
}

struct Problem {
  CrossEntropyRows rows;  ///< without pointers
  Bytes logits;
  std::vector<std::int64_t> targets;
  std::vector<float> weights;  ///< empty: none
};

Problem random_problem(Element type, std::size_t rows, std::size_t classes, bool weights) {
  std::mt19937 random(static_cast<std::uint32_t>(rows + classes));
  std::normal_distribution<float> normal(0.0F, 3.0F);
  Problem problem;
  std::vector<float> values;
  for (std::size_t i = 0; i < rows * classes; ++i) values.push_back(normal(random));
  problem.logits = stored_as(values, type);
  for (std::size_t row = 0; row < rows; ++row) {
    problem.targets.push_back(row % 5 == 4 ? -100 : static_cast<std::int64_t>(random() % classes));
  }
  for (std::size_t c = 0; weights && c < classes; ++c) {
    problem.weights.push_back(0.5F + static_cast<float>(c % 3));
  }
  problem.rows.type = type;
  problem.rows.rows = rows;
  problem.rows.classes = classes;
  problem.rows.mean = !weights;
  return problem;
}

struct Result {
  float loss = 0, weight = 0;
  Bytes gradients;
};

constexpr float kGradient = 512.0F;

Result on_cpu(Problem problem) {
  CrossEntropyRows of = problem.rows;
  of.logits = problem.logits.data();
  of.targets = problem.targets.data();
  of.weights = problem.weights.empty() ? nullptr : problem.weights.data();
  std::vector<float> statistics(kStatistics * of.rows);
  cross_entropy_cpu(of, 0, of.rows, statistics.data(), best_isa());
  const LossSum sum = sum_losses(of, statistics.data());
  cross_entropy_gradient_cpu(of, 0, of.rows, statistics.data(), kGradient, sum.weight, best_isa());
  return {sum.loss, sum.weight, problem.logits};
}

/// Logits start `distance` bytes after an aligned address.
Result on_gpu(Problem problem, std::size_t distance = 0) {
  const DeviceBytes logits(problem.logits, distance);
  const DeviceBytes targets(bytes_of_vector(problem.targets), 0);
  const DeviceBytes weights(bytes_of_vector(problem.weights), 0);
  CrossEntropyRows of = problem.rows;
  of.logits = logits.as<void>();
  of.targets = targets.as<std::int64_t>();
  of.weights = weights.as<float>();
  const DeviceBytes statistics(Bytes(kStatistics * of.rows * sizeof(float)), 0);
  const DeviceBytes scalars(bytes_of_vector(std::vector<float>{0.0F, 0.0F, kGradient}), 0);
  auto* const loss = scalars.as<float>();
  cross_entropy_cuda(of, statistics.as<float>(), loss, Element::kFloat32, loss + 1, nullptr);
  cross_entropy_gradient_cuda(
      of, statistics.as<float>(), loss + 2, Element::kFloat32, loss + 1, nullptr);
  require_cuda(cudaDeviceSynchronize());
  Bytes found(3 * sizeof(float));
  scalars.read(found);
  Result result;
  std::memcpy(&result.loss, found.data(), sizeof(float));
  std::memcpy(&result.weight, found.data() + sizeof(float), sizeof(float));
  result.gradients.resize(problem.logits.size());
  logits.read(result.gradients);
  return result;
}

class CrossEntropyCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_gpu()) GTEST_SKIP() << "no GPU";
  }
};

TEST_F(CrossEntropyCuda, IsCloseToTheCpuForEveryTypeLengthAndReduction) {
  for (const Element type : {Element::kFloat32, Element::kBFloat16, Element::kFloat16}) {
    const double unit = type == Element::kFloat32    ? 4e-6
                        : type == Element::kBFloat16 ? 0x1p-7
                                                     : 0x1p-10;
    for (const std::size_t classes : {std::size_t{1}, std::size_t{513}, std::size_t{50257}}) {
      for (const bool weights : {false, true}) {
        const Problem problem = random_problem(type, 11, classes, weights);
        const Result expected = on_cpu(problem), found = on_gpu(problem);
        EXPECT_NEAR(found.loss, expected.loss, 1e-5 * (1 + std::abs(expected.loss)));
        EXPECT_FLOAT_EQ(found.weight, expected.weight);
        for (std::size_t i = 0; i < 11 * classes; ++i) {
          const double wanted = value_at(expected.gradients, type, i);
          ASSERT_NEAR(value_at(found.gradients, type, i), wanted, unit * std::abs(wanted) + 2e-3)
              << i << " of " << classes;
        }
      }
    }
  }
}

TEST_F(CrossEntropyCuda, GivesTheSameBitsEveryTimeAndAtEveryAddress) {
  const Problem problem = random_problem(Element::kBFloat16, 64, 50257, false);
  const Result first = on_gpu(problem);
  for (const std::size_t distance : {std::size_t{0}, std::size_t{2}, std::size_t{14}}) {
    const Result again = on_gpu(problem, distance);
    EXPECT_EQ(std::memcmp(&first.loss, &again.loss, sizeof first.loss), 0);
    EXPECT_EQ(first.gradients, again.gradients);
  }
}

TEST_F(CrossEntropyCuda, NansAndTargetsThatAreNoClassGiveNaN) {
  Problem problem = random_problem(Element::kFloat32, 3, 100, false);
  problem.targets[1] = 100;
  EXPECT_TRUE(std::isnan(on_gpu(problem).loss));
  problem = random_problem(Element::kFloat32, 3, 100, false);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(problem.logits.data() + 150 * sizeof(float), &nan, sizeof nan);
  EXPECT_TRUE(std::isnan(on_gpu(problem).loss));
  problem.targets[1] = -100;  // ignored, with its NaN
  EXPECT_TRUE(std::isfinite(on_gpu(problem).loss));
}

}  // namespace
}  // namespace elixir::kernels
