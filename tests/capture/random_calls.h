// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Random calls of operators with a geometry rule: draws arguments that the CPU kernel mostly
// accepts.

#include <functional>
#include <string>
#include <vector>

#include "capture/record/arguments/values.h"
#include "random_arguments.h"

namespace elixir::capture {

struct RandomCall {
  std::string op;  ///< "aten::where.self"
  std::function<Values(Random&)> draw;
};
using RandomCalls = std::vector<RandomCall>;

/// The calls of all topics.
[[nodiscard]] RandomCalls all_random_calls();

[[nodiscard]] RandomCalls random_elementwise_calls();
[[nodiscard]] RandomCalls random_indexing_calls();
[[nodiscard]] RandomCalls random_reduction_calls();
[[nodiscard]] RandomCalls random_loss_calls();
[[nodiscard]] RandomCalls random_image_calls();
[[nodiscard]] RandomCalls random_norm_calls();
[[nodiscard]] RandomCalls random_algebra_calls();
[[nodiscard]] RandomCalls random_attention_calls();

/// Calls of further operators, whose arguments depend on each other. Mostly accepted on CPU and
/// GPU.
[[nodiscard]] RandomCalls structured_calls();

inline const c10::IValue kNone;

}  // namespace elixir::capture
