// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares losses and gradients with fp64, and all instruction sets with each other, bit for bit.
#include "kernels/cross_entropy.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "cross_entropy_problem.h"

namespace elixir::kernels {
namespace {

using Problem = CrossEntropyProblem;

const Element kLogitTypes[] = {Element::kFloat32, Element::kBFloat16, Element::kFloat16};

struct Result {
  LossSum loss;
  std::vector<float> statistics;
  Problem gradients;  ///< the problem, with gradients in place of logits
};

Result run(const Problem& problem, float gradient, Isa isa) {
  Result result{{}, {}, problem};
  const CrossEntropyRows of = result.gradients.rows();
  result.statistics.resize(kStatistics * of.rows);
  cross_entropy_cpu(of, 0, of.rows, result.statistics.data(), isa);
  result.loss = sum_losses(of, result.statistics.data());
  // Without a reduction each row has its own gradient: the first `gradient`, the second twice that…
  const bool reduces = of.reduction != LossReduction::kNone;
  std::vector<float> gradients;
  for (std::size_t row = 0; row < of.rows; ++row) {
    gradients.push_back(reduces ? gradient : gradient * static_cast<float>(1 + row));
  }
  const LossGradients given{
      .values = gradients.data(), .type = Element::kFloat32, .stride = reduces ? 0U : 1U};
  cross_entropy_gradient_cpu(
      of, 0, of.rows, result.statistics.data(), given, result.loss.weight, isa);
  return result;
}

/// fp64: the loss, each row's, and the gradient of each logit (rows, classes), with the gradients
/// of run().
struct Exact {
  double loss = 0, weight = 0;
  std::vector<double> losses, gradients;
};
Exact exact(const Problem& problem, double gradient) {
  const CrossEntropyRows& of = problem.geometry();
  const double smoothing = of.label_smoothing / static_cast<double>(of.classes);
  Exact result;
  result.losses.resize(of.rows);
  result.gradients.resize(of.rows * of.classes);
  const auto weight_of_class = [&](std::size_t c) {
    return problem.weights.empty() ? 1.0 : static_cast<double>(problem.weights[c]);
  };
  const auto weight = [&](std::size_t row) {
    return weight_of_class(static_cast<std::size_t>(problem.targets[row]));
  };
  for (std::size_t row = 0; row < of.rows; ++row) {
    if (problem.targets[row] != kIgnoredClass) result.weight += weight(row);
  }
  const double divisor = of.reduction == LossReduction::kMean ? result.weight : 1.0;
  for (std::size_t row = 0; row < of.rows; ++row) {
    if (problem.targets[row] == kIgnoredClass) continue;
    double sum = 0;
    for (std::size_t c = 0; c < of.classes; ++c) {
      sum += std::exp(static_cast<double>(problem.logit(row, c)));
    }
    const auto target = static_cast<std::size_t>(problem.targets[row]);
    // A target in parts: how much of the row's label each class is, times its weight.
    const auto part = [&](std::size_t c) {
      return weight_of_class(c) * (smoothing + (c == target ? 1 - of.label_smoothing : 0.0));
    };
    double parts = 0;
    for (std::size_t c = 0; c < of.classes; ++c) {
      parts += part(c);
      result.losses[row] += part(c) * (std::log(sum) - problem.logit(row, c));
    }
    result.loss += result.losses[row] / divisor;
    const double given = of.reduction == LossReduction::kNone
                             ? gradient * static_cast<double>(1 + row)
                             : gradient / divisor;
    for (std::size_t c = 0; c < of.classes; ++c) {
      const double p = std::exp(static_cast<double>(problem.logit(row, c))) / sum;
      result.gradients[row * of.classes + c] = given * (parts * p - part(c));
    }
  }
  return result;
}

double half_unit(Element type) {
  constexpr double kFloat32 = 4e-6;  // of a sum of many exponentials
  if (type == Element::kFloat32) return kFloat32;
  return (type == Element::kBFloat16 ? 0x1p-8 : 0x1p-11) * 1.01;
}

void expect_close_to_fp64(Element type, const RowsShape& shape) {
  constexpr float kGradient = 1024.0F;  // a loss scale
  const Problem problem(type, shape, 7);
  const Exact expected = exact(problem, kGradient);
  const Result found = run(problem, kGradient, best_isa());
  EXPECT_NEAR(found.loss.loss, expected.loss, 1e-6 * (1 + std::abs(expected.loss)));
  EXPECT_NEAR(found.loss.weight, expected.weight, 1e-6 * expected.weight);
  EXPECT_TRUE(found.gradients.padding_is_untouched());
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const std::size_t at = position_of(RowStatistic::kLoss, problem.geometry(), row);
    EXPECT_NEAR(found.statistics[at], expected.losses[row], 1e-6 * (1 + expected.losses[row]));
  }
  // p - 1 cancels where p is close to 1.
  const double largest_scale =
      shape.reduction == LossReduction::kNone ? static_cast<double>(shape.rows) : 1.0;
  const double absolute =
      1e-6 * kGradient * 7 * largest_scale + (type == Element::kFloat16 ? 0x1p-24 : 0);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    for (std::size_t c = 0; c < shape.classes; ++c) {
      const double wanted = expected.gradients[row * shape.classes + c];
      ASSERT_NEAR(
          found.gradients.logit(row, c), wanted, half_unit(type) * std::abs(wanted) + absolute)
          << c << " of " << shape.classes;
    }
  }
}

TEST(CrossEntropy, IsCloseToFp64ForEveryTypeLengthAndReduction) {
  for (const Element type : kLogitTypes) {
    for (const std::size_t classes :
         {std::size_t{1}, std::size_t{2}, std::size_t{31}, std::size_t{1024}, std::size_t{5003}}) {
      for (const bool weights : {false, true}) {
        for (const LossReduction reduction :
             {LossReduction::kNone, LossReduction::kMean, LossReduction::kSum}) {
          for (const double smoothing : {0.0, 0.1, 1.0}) {
            expect_close_to_fp64(type,
                                 {.classes = classes,
                                  .weights = weights,
                                  .reduction = reduction,
                                  .label_smoothing = smoothing});
          }
        }
      }
    }
  }
}

TEST(CrossEntropy, RowsMayHavePaddingBetweenThem) {
  for (const Element type : kLogitTypes) {
    for (const std::size_t padding : {std::size_t{1}, std::size_t{7}}) {
      expect_close_to_fp64(type, {.rows = 9, .classes = 301, .padding = padding});
      const Problem padded(type, {.rows = 1, .classes = 301, .padding = padding}, 7);
      const Problem packed(type, {.rows = 1, .classes = 301}, 7);
      EXPECT_EQ(run(padded, 1.0F, best_isa()).statistics, run(packed, 1.0F, best_isa()).statistics);
    }
  }
}

TEST(CrossEntropy, HasTheSameBitsForEveryInstructionSet) {
  for (const Element type : kLogitTypes) {
    for (const std::size_t classes : {std::size_t{7}, std::size_t{16}, std::size_t{2345}}) {
      for (const double smoothing : {0.0, 0.1}) {
        Problem problem(
            type, {.classes = classes, .weights = true, .label_smoothing = smoothing}, 11);
        problem.set(0, 3, -std::numeric_limits<float>::infinity());
        const Result reference = run(problem, 3.0F, Isa::kScalar);
        for (const Isa isa : available_isas()) {
          const Result found = run(problem, 3.0F, isa);
          EXPECT_EQ(std::memcmp(found.statistics.data(),
                                reference.statistics.data(),
                                found.statistics.size() * sizeof(float)),
                    0)
              << name_of(isa) << " " << classes;
          EXPECT_EQ(found.gradients.logits, reference.gradients.logits)
              << name_of(isa) << " " << classes;
        }
      }
    }
  }
}

TEST(CrossEntropy, DoesNotDependOnHowRowsAreSharedOut) {
  const Problem problem(Element::kBFloat16, {.rows = 9, .classes = 300}, 5);
  const Result whole = run(problem, 1.0F, best_isa());
  Problem parts = problem;
  const CrossEntropyRows of = parts.rows();
  std::vector<float> statistics(kStatistics * of.rows);
  cross_entropy_cpu(of, 4, 9, statistics.data(), best_isa());
  cross_entropy_cpu(of, 0, 4, statistics.data(), best_isa());
  EXPECT_EQ(statistics, whole.statistics);
  const float one = 1.0F;
  const LossGradients given{.values = &one, .type = Element::kFloat32, .stride = 0};
  cross_entropy_gradient_cpu(of, 4, 9, statistics.data(), given, whole.loss.weight, best_isa());
  cross_entropy_gradient_cpu(of, 0, 4, statistics.data(), given, whole.loss.weight, best_isa());
  EXPECT_EQ(parts.logits, whole.gradients.logits);
}

TEST(CrossEntropy, AnIgnoredRowGetsZerosEvenWithoutFiniteLogits) {
  Problem problem(Element::kFloat32, {.rows = 4, .classes = 10}, 3);
  problem.set(3, 2, std::numeric_limits<float>::quiet_NaN());
  const Result found = run(problem, 1.0F, best_isa());
  EXPECT_TRUE(std::isfinite(found.loss.loss));
  for (std::size_t c = 0; c < 10; ++c) EXPECT_EQ(found.gradients.logit(3, c), 0.0F);
}

TEST(CrossEntropy, ANanIsNotHidden) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{39}}) {
    Problem problem(Element::kBFloat16, {.rows = 1, .classes = 40}, 3);
    problem.set(0, at, std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(std::isnan(run(problem, 1.0F, best_isa()).loss.loss)) << at;
  }
}

TEST(CrossEntropy, ACommonOffsetOfAllLogitsDoesNotHideSmoothedLabels) {
  Problem problem(Element::kFloat32, {.rows = 1, .classes = 2000, .label_smoothing = 0.5}, 3);
  Problem near_zero = problem;
  for (std::size_t c = 0; c < 2000; ++c) {
    problem.set(0, c, 4096.0F + problem.logit(0, c));
    near_zero.set(0, c, problem.logit(0, c) - 4096.0F);  // exact
  }
  const Exact expected = exact(near_zero, 1.0);
  EXPECT_NEAR(run(problem, 1.0F, best_isa()).loss.loss, expected.loss, 2e-6 * expected.loss);
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  Problem problem(Element::kFloat32, {.rows = 1, .classes = 3}, 3);
  problem.targets = {2};
  problem.set(0, 0, 3e38F);
  problem.set(0, 1, -3e38F);
  problem.set(0, 2, 3e38F);
  EXPECT_NEAR(run(problem, 1.0F, best_isa()).loss.loss, std::log(2.0), 1e-6);
}

TEST(CrossEntropy, TargetsThatAreNoClassAreFound) {
  Problem problem(Element::kFloat32, {.rows = 4, .classes = 10}, 3);
  EXPECT_EQ(first_bad_target(problem.rows()), 4U);
  problem.targets[2] = 10;
  EXPECT_EQ(first_bad_target(problem.rows()), 2U);
  problem.targets[1] = -1;
  EXPECT_EQ(first_bad_target(problem.rows()), 1U);
}

}  // namespace
}  // namespace elixir::kernels
