// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace elixir::train {

double LearningRate::at(std::int64_t step) const {
  const std::int64_t k = step - 1;
  if (k < warmup_steps)
    return base * static_cast<double>(k + 1) / static_cast<double>(warmup_steps);
  if (schedule == Schedule::kConstant) return base;
  const std::int64_t rest = std::max<std::int64_t>(1, steps - warmup_steps);
  const double p = std::min(1.0, static_cast<double>(k - warmup_steps) / static_cast<double>(rest));
  if (schedule == Schedule::kLinear) return base * (1.0 - p);
  return base * (1.0 + std::cos(std::numbers::pi * p)) / 2.0;
}

std::string_view name_of(LearningRate::Schedule schedule) {
  switch (schedule) {
    case LearningRate::Schedule::kConstant:
      return "constant";
    case LearningRate::Schedule::kLinear:
      return "linear";
    case LearningRate::Schedule::kCosine:
      return "cosine";
  }
  return "";
}

std::optional<LearningRate::Schedule> schedule_named(std::string_view name) {
  for (const auto each : {LearningRate::Schedule::kConstant,
                          LearningRate::Schedule::kLinear,
                          LearningRate::Schedule::kCosine}) {
    if (name == name_of(each)) return each;
  }
  return std::nullopt;
}

}  // namespace elixir::train
