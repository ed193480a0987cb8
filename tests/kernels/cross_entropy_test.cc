// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares losses and gradients with fp64, and all instruction sets with each other, bit for bit.
#include "kernels/cross_entropy.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "reference.h"

namespace elixir::kernels {
namespace {

constexpr std::int64_t kIgnored = -100;
const Element kLogitTypes[] = {Element::kFloat32, Element::kBFloat16, Element::kFloat16};

/// Rows of logits with targets and weights; `values` are the logits as the kernel reads them.
struct Rows {
  CrossEntropyRows rows;
  std::vector<char> stored;
  std::vector<float> values;
  std::vector<std::int64_t> targets;
  std::vector<float> weights;

  void set(std::size_t i, float value) {
    void* at = stored.data() + i * bytes_of(rows.type);
    if (rows.type == Element::kFloat32) {
      std::memcpy(at, &value, sizeof value);
      values[i] = value;
      return;
    }
    const bool brain = rows.type == Element::kBFloat16;
    const std::uint16_t bits = brain ? reference::to_bfloat16(value) : reference::to_float16(value);
    std::memcpy(at, &bits, sizeof bits);
    values[i] = brain ? reference::bfloat16_value(bits) : reference::float16_value(bits);
  }
  [[nodiscard]] float get(std::size_t i) const {
    const void* at = stored.data() + i * bytes_of(rows.type);
    if (rows.type == Element::kFloat32) {
      float value = 0;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    return rows.type == Element::kBFloat16 ? reference::bfloat16_value(bits)
                                           : reference::float16_value(bits);
  }
};

struct Shape {
  std::size_t rows = 5, classes = 1000;
  bool weights = false, mean = true;
};

Rows random_rows(Element type, const Shape& shape, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  Rows made;
  const std::size_t n = shape.rows * shape.classes;
  made.stored.resize(n * bytes_of(type));
  made.values.resize(n);
  made.rows.type = type;
  for (std::size_t i = 0; i < n; ++i) made.set(i, normal(random));
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const bool ignored = row % 4 == 3;
    made.targets.push_back(ignored ? kIgnored
                                   : static_cast<std::int64_t>(random() % shape.classes));
  }
  for (std::size_t c = 0; c < shape.classes; ++c) {
    made.weights.push_back(0.5F + static_cast<float>(c % 7));
  }
  made.rows = {.logits = nullptr,
               .type = type,
               .rows = shape.rows,
               .classes = shape.classes,
               .targets = nullptr,
               .weights = nullptr,
               .ignore_index = kIgnored,
               .mean = shape.mean};
  return made;
}

CrossEntropyRows view(Rows& made, bool weights) {
  CrossEntropyRows of = made.rows;
  of.logits = made.stored.data();
  of.targets = made.targets.data();
  of.weights = weights ? made.weights.data() : nullptr;
  return of;
}

struct Result {
  LossSum loss;
  std::vector<float> statistics;
  std::vector<char> gradients;
};

Result run(Rows made, bool weights, float gradient, Isa isa) {
  const CrossEntropyRows of = view(made, weights);
  Result result;
  result.statistics.resize(kStatistics * of.rows);
  cross_entropy_cpu(of, 0, of.rows, result.statistics.data(), isa);
  result.loss = sum_losses(of, result.statistics.data());
  cross_entropy_gradient_cpu(
      of, 0, of.rows, result.statistics.data(), gradient, result.loss.weight, isa);
  result.gradients = made.stored;
  return result;
}

/// fp64: the loss, and the gradient of each logit.
struct Exact {
  double loss = 0, weight = 0;
  std::vector<double> gradients;
};
Exact exact(const Rows& made, bool weights, double gradient) {
  const std::size_t classes = made.rows.classes;
  Exact result;
  result.gradients.resize(made.values.size());
  const auto weight = [&](std::size_t row) {
    return weights ? static_cast<double>(made.weights[made.targets[row]]) : 1.0;
  };
  for (std::size_t row = 0; row < made.rows.rows; ++row) {
    if (made.targets[row] != kIgnored) result.weight += weight(row);
  }
  const double divisor = made.rows.mean ? result.weight : 1.0;
  for (std::size_t row = 0; row < made.rows.rows; ++row) {
    if (made.targets[row] == kIgnored) continue;
    const float* x = made.values.data() + row * classes;
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(x[c]));
    const auto target = static_cast<std::size_t>(made.targets[row]);
    result.loss += weight(row) * (std::log(sum) - x[target]) / divisor;
    for (std::size_t c = 0; c < classes; ++c) {
      const double p = std::exp(static_cast<double>(x[c])) / sum;
      result.gradients[row * classes + c] =
          gradient * weight(row) / divisor * (p - (c == target ? 1.0 : 0.0));
    }
  }
  return result;
}

double half_unit(Element type) {
  constexpr double kFloat32 = 4e-6;  // of a sum of many exponentials
  if (type == Element::kFloat32) return kFloat32;
  return (type == Element::kBFloat16 ? 0x1p-8 : 0x1p-11) * 1.01;
}

TEST(CrossEntropy, IsCloseToFp64ForEveryTypeLengthAndReduction) {
  constexpr float kGradient = 1024.0F;  // a loss scale
  for (const Element type : kLogitTypes) {
    for (const std::size_t classes :
         {std::size_t{1}, std::size_t{2}, std::size_t{31}, std::size_t{1024}, std::size_t{5003}}) {
      for (const bool weights : {false, true}) {
        for (const bool mean : {false, true}) {
          const Rows made =
              random_rows(type, {.classes = classes, .weights = weights, .mean = mean}, 7);
          const Exact expected = exact(made, weights, kGradient);
          const Result found = run(made, weights, kGradient, best_isa());
          EXPECT_NEAR(found.loss.loss, expected.loss, 1e-6 * (1 + std::abs(expected.loss)));
          EXPECT_NEAR(found.loss.weight, expected.weight, 1e-6 * expected.weight);
          Rows gradients = made;
          gradients.stored = found.gradients;
          // p - 1 cancels where p is close to 1.
          const double absolute = 1e-6 * kGradient * 7 + (type == Element::kFloat16 ? 0x1p-24 : 0);
          for (std::size_t i = 0; i < made.values.size(); ++i) {
            ASSERT_NEAR(gradients.get(i),
                        expected.gradients[i],
                        half_unit(type) * std::abs(expected.gradients[i]) + absolute)
                << i << " of " << classes;
          }
        }
      }
    }
  }
}

TEST(CrossEntropy, HasTheSameBitsForEveryInstructionSet) {
  for (const Element type : kLogitTypes) {
    for (const std::size_t classes : {std::size_t{7}, std::size_t{16}, std::size_t{2345}}) {
      Rows made = random_rows(type, {.classes = classes}, 11);
      made.set(3, -std::numeric_limits<float>::infinity());
      const Result reference = run(made, true, 3.0F, Isa::kScalar);
      for (const Isa isa : available_isas()) {
        const Result found = run(made, true, 3.0F, isa);
        EXPECT_EQ(std::memcmp(found.statistics.data(),
                              reference.statistics.data(),
                              found.statistics.size() * sizeof(float)),
                  0)
            << name_of(isa) << " " << classes;
        EXPECT_EQ(found.gradients, reference.gradients) << name_of(isa) << " " << classes;
      }
    }
  }
}

TEST(CrossEntropy, DoesNotDependOnHowRowsAreSharedOut) {
  Rows made = random_rows(Element::kBFloat16, {.rows = 9, .classes = 300}, 5);
  const Result whole = run(made, false, 1.0F, best_isa());
  Rows parts = made;
  const CrossEntropyRows of = view(parts, false);
  std::vector<float> statistics(kStatistics * of.rows);
  cross_entropy_cpu(of, 4, 9, statistics.data(), best_isa());
  cross_entropy_cpu(of, 0, 4, statistics.data(), best_isa());
  EXPECT_EQ(statistics, whole.statistics);
  cross_entropy_gradient_cpu(of, 4, 9, statistics.data(), 1.0F, whole.loss.weight, best_isa());
  cross_entropy_gradient_cpu(of, 0, 4, statistics.data(), 1.0F, whole.loss.weight, best_isa());
  EXPECT_EQ(parts.stored, whole.gradients);
}

TEST(CrossEntropy, AnIgnoredRowGetsZerosEvenWithoutFiniteLogits) {
  Rows made = random_rows(Element::kFloat32, {.rows = 4, .classes = 10}, 3);
  made.set(3 * 10 + 2, std::numeric_limits<float>::quiet_NaN());
  const Result found = run(made, false, 1.0F, best_isa());
  EXPECT_TRUE(std::isfinite(found.loss.loss));
  Rows gradients = made;
  gradients.stored = found.gradients;
  for (std::size_t c = 0; c < 10; ++c) EXPECT_EQ(gradients.get(3 * 10 + c), 0.0F);
}

TEST(CrossEntropy, ANanIsNotHidden) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{39}}) {
    Rows made = random_rows(Element::kBFloat16, {.rows = 1, .classes = 40}, 3);
    made.set(at, std::numeric_limits<float>::quiet_NaN());
    const Result found = run(made, false, 1.0F, best_isa());
    EXPECT_TRUE(std::isnan(found.loss.loss)) << at;
  }
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  Rows made = random_rows(Element::kFloat32, {.rows = 1, .classes = 3}, 3);
  made.targets = {2};
  made.set(0, 3e38F);
  made.set(1, -3e38F);
  made.set(2, 3e38F);
  EXPECT_NEAR(run(made, false, 1.0F, best_isa()).loss.loss, std::log(2.0), 1e-6);
}

TEST(CrossEntropy, TargetsThatAreNoClassAreFound) {
  Rows made = random_rows(Element::kFloat32, {.rows = 4, .classes = 10}, 3);
  EXPECT_EQ(first_bad_target(view(made, false)), 4U);
  made.targets[2] = 10;
  EXPECT_EQ(first_bad_target(view(made, false)), 2U);
  made.targets[1] = -1;
  EXPECT_EQ(first_bad_target(view(made, false)), 1U);
}

}  // namespace
}  // namespace elixir::kernels
