// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A run with a loss scale that is too large in some steps, and the same run without a scale, which
// leaves these steps out. A scale that is a power of two changes no bit in fp32 and bf16, so both
// have the same results.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/trainer_test_case.h"
#include "runtime/training.h"

namespace elixir::runtime {

/// From 2^128 on, the gradient of the loss is infinite.
inline constexpr LossScaleOptions kSkips{.initial = 0x1p140, .backoff = 0x1p-40};
inline constexpr std::int64_t kSkippingSteps = 12;
inline constexpr std::int64_t kSkipped[] = {1, 4, 5, 8, 11};

/// Before some steps the scale is made too large, once for two steps.
void enlarge_scale(Trainer& trainer, std::int64_t step);

/// The learning rate of an update, which differs from that of every other.
[[nodiscard]] double rate_of_update(std::int64_t update);

/// What the steps that were not skipped have made.
struct Made {
  std::vector<std::string> losses;
  std::vector<double> norms, rates;
  State state;
};
[[nodiscard]] Made made_of(const std::vector<StepReport>& reports, Trainer& trainer);
void expect_same(const Made& a, const Made& b);

struct SkippingRun {
  const TestModel& model;
  plan::Plan plan;
  TrainerOptions options;

  /// `model` scales its loss. Each step begins before the one before it is settled.
  [[nodiscard]] Made with_scale() const;
  /// `model` does not.
  [[nodiscard]] Made without_scale() const;
};

}  // namespace elixir::runtime
