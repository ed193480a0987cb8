// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares the cross entropy on the GPU with that on the CPU, which is compared with fp64
// (tests/kernels). Skipped without a GPU.
#include "kernels/cross_entropy.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "cross_entropy_problem.h"
#include "device_problem.h"
#include "kernels/cuda_kernels.h"

namespace elixir::kernels {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Problem = CrossEntropyProblem;

template <class T>
Bytes bytes_of_vector(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Result {
  std::vector<float> losses;  ///< one, or each row's
  float weight = 0;
  Problem gradients;  ///< the problem, with gradients in place of logits
};

constexpr float kGradient = 512.0F;

/// Without a reduction each row has its own.
std::vector<float> gradients_for(const Problem& problem) {
  std::vector<float> gradients = {kGradient};
  if (problem.geometry().reduction != LossReduction::kNone) return gradients;
  while (gradients.size() < problem.geometry().rows) gradients.push_back(gradients.back() * 0.5F);
  return gradients;
}
LossGradients view_of(const float* gradients, const Problem& problem) {
  const bool reduces = problem.geometry().reduction != LossReduction::kNone;
  return {.values = gradients, .type = Element::kFloat32, .stride = reduces ? 0U : 1U};
}

Result on_cpu(const Problem& problem) {
  Result result{{}, 0, problem};
  const CrossEntropyRows of = result.gradients.rows();
  std::vector<float> statistics(kStatistics * of.rows);
  cross_entropy_cpu(of, 0, of.rows, statistics.data(), best_isa());
  const LossSum sum = sum_losses(of, statistics.data());
  const std::vector<float> gradients = gradients_for(problem);
  cross_entropy_gradient_cpu(of,
                             0,
                             of.rows,
                             statistics.data(),
                             view_of(gradients.data(), problem),
                             sum.weight,
                             best_isa());
  const bool reduces = of.reduction != LossReduction::kNone;
  for (std::size_t row = 0; !reduces && row < of.rows; ++row) {
    result.losses.push_back(statistics[position_of(RowStatistic::kLoss, of, row)]);
  }
  if (reduces) result.losses = {sum.loss};
  result.weight = sum.weight;
  return result;
}

/// Logits start `distance` bytes after an aligned address.
Result on_gpu(const Problem& problem, std::size_t distance = 0) {
  const DeviceBytes logits(problem.logits, distance);
  const DeviceBytes targets(bytes_of_vector(problem.targets), 0);
  const DeviceBytes weights(bytes_of_vector(problem.weights), 0);
  CrossEntropyRows of = problem.geometry();
  of.logits = logits.as<void>();
  of.targets = targets.as<std::int64_t>();
  of.weights = weights.as<float>();
  const DeviceBytes statistics(Bytes(kStatistics * of.rows * sizeof(float)), 0);
  const DeviceBytes gradients(bytes_of_vector(gradients_for(problem)), 0);
  const bool reduces = of.reduction != LossReduction::kNone;
  Bytes found_losses((reduces ? 1 : of.rows) * sizeof(float)), found_weight(sizeof(float));
  const DeviceBytes losses(found_losses, 0), weight(found_weight, 0);
  cross_entropy_cuda(of,
                     statistics.as<float>(),
                     losses.as<void>(),
                     Element::kFloat32,
                     weight.as<float>(),
                     nullptr);
  cross_entropy_gradient_cuda(of,
                              statistics.as<float>(),
                              view_of(gradients.as<float>(), problem),
                              weight.as<float>(),
                              nullptr);
  require_cuda(cudaDeviceSynchronize());
  losses.read(found_losses);
  weight.read(found_weight);
  Result result{{}, 0, problem};
  result.losses.resize(found_losses.size() / sizeof(float));
  std::memcpy(result.losses.data(), found_losses.data(), found_losses.size());
  std::memcpy(&result.weight, found_weight.data(), sizeof(float));
  logits.read(result.gradients.logits);
  return result;
}

class CrossEntropyCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_gpu()) GTEST_SKIP() << "no GPU";
  }
};

void expect_close_to_cpu(Element type, const RowsShape& shape) {
  const double unit = type == Element::kFloat32    ? 4e-6
                      : type == Element::kBFloat16 ? 0x1p-7
                                                   : 0x1p-10;
  const Problem problem(type, shape, 7);
  const Result expected = on_cpu(problem), found = on_gpu(problem);
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-5 * (1 + std::abs(expected.losses[i])));
  }
  EXPECT_FLOAT_EQ(found.weight, expected.weight);
  EXPECT_TRUE(found.gradients.padding_is_untouched());
  for (std::size_t row = 0; row < shape.rows; ++row) {
    for (std::size_t c = 0; c < shape.classes; ++c) {
      const double wanted = expected.gradients.logit(row, c);
      ASSERT_NEAR(found.gradients.logit(row, c), wanted, unit * std::abs(wanted) + 2e-3)
          << c << " of " << shape.classes << " in row " << row;
    }
  }
}

TEST_F(CrossEntropyCuda, IsCloseToTheCpuForEveryTypeLengthStrideAndReduction) {
  for (const Element type : {Element::kFloat32, Element::kBFloat16, Element::kFloat16}) {
    for (const std::size_t classes :
         {std::size_t{1}, std::size_t{5}, std::size_t{513}, std::size_t{50257}}) {
      for (const std::size_t padding : {std::size_t{0}, std::size_t{7}}) {
        const bool weights = padding != 0 || classes == 513;
        for (const double smoothing : {0.0, 0.1}) {
          for (const LossReduction reduction :
               {LossReduction::kNone, LossReduction::kMean, LossReduction::kSum}) {
            expect_close_to_cpu(type,
                                {.rows = 11,
                                 .classes = classes,
                                 .padding = padding,
                                 .weights = weights,
                                 .reduction = reduction,
                                 .label_smoothing = smoothing});
          }
        }
      }
    }
  }
}

TEST_F(CrossEntropyCuda, GivesTheSameBitsEveryTimeAndAtEveryAddress) {
  for (const double smoothing : {0.0, 0.1}) {
    const Problem problem(
        Element::kBFloat16, {.rows = 64, .classes = 50257, .label_smoothing = smoothing}, 7);
    const Result first = on_gpu(problem);
    for (const std::size_t distance : {std::size_t{0}, std::size_t{2}, std::size_t{14}}) {
      const Result again = on_gpu(problem, distance);
      EXPECT_EQ(first.losses, again.losses);
      EXPECT_EQ(first.gradients.logits, again.gradients.logits);
    }
  }
}

TEST_F(CrossEntropyCuda, NansAndTargetsThatAreNoClassGiveNaN) {
  Problem problem(Element::kFloat32, {.rows = 3, .classes = 100}, 7);
  EXPECT_TRUE(std::isfinite(on_gpu(problem).losses[0]));
  problem.targets[1] = 100;
  EXPECT_TRUE(std::isnan(on_gpu(problem).losses[0]));
  problem.targets[1] = 4;
  for (const std::size_t at : {std::size_t{0}, std::size_t{50}, std::size_t{99}}) {
    Problem with_nan = problem;
    with_nan.set(1, at, std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(std::isnan(on_gpu(with_nan).losses[0])) << at;
    with_nan.targets[1] = kIgnoredClass;
    EXPECT_TRUE(std::isfinite(on_gpu(with_nan).losses[0])) << at;
  }
}

}  // namespace
}  // namespace elixir::kernels
