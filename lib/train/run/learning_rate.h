// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The learning rate of a step: a pure function, computed in double. Steps that a loss scale skips
// do not count. With k = step - 1 (steps count from 1), W warm-up steps and S steps in total:
//   k < W                  base * (k + 1) / W
//   constant               base
//   linear                 base * (1 - p)                    p = (k - W) / (S - W), at most 1
//   cosine                 base * (1 + cos(pi * p)) / 2
// No step has rate 0: the first step has base / W, step W has base, and the last step still learns.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace elixir::train {

struct LearningRate {
  enum class Schedule : std::uint8_t { kConstant, kLinear, kCosine } schedule = Schedule::kConstant;
  double base = 1e-3;
  std::int64_t warmup_steps = 0;
  std::int64_t steps = 1;

  /// `step` counts from 1.
  [[nodiscard]] double at(std::int64_t step) const;
};

[[nodiscard]] std::string_view name_of(LearningRate::Schedule schedule);
[[nodiscard]] std::optional<LearningRate::Schedule> schedule_named(std::string_view name);

}  // namespace elixir::train
