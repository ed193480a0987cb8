// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Generators for operators whose arguments depend on each other, by topic. A backward operator gets
// the results of its forward operator, which the generator runs.

#include <string>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "random_calls.h"

namespace elixir::capture {

[[nodiscard]] RandomCalls structured_dense_calls();
[[nodiscard]] RandomCalls structured_image_calls();
[[nodiscard]] RandomCalls structured_indexing_calls();
[[nodiscard]] RandomCalls structured_linalg_calls();
[[nodiscard]] RandomCalls structured_recurrent_calls();

/// The results of a call. Throws what LibTorch throws.
[[nodiscard]] Values results_of(const std::string& op, Values arguments);

/// Floating dtypes that matrix products take on every device.
[[nodiscard]] at::ScalarType product_dtype(Random& random);

/// A tensor like another one, in a random layout.
[[nodiscard]] at::Tensor gradient_of(Random& random, const c10::IValue& result);

}  // namespace elixir::capture
