// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Scalars that forward returns beside the loss, and that nothing trains: a second loss of a tuple,
// which the model's author adds up outside the model.

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace elixir::capture {

/// The names of the scalars in `returned` that depend on parameters and that `loss` does not depend
/// on: "`loss_box`" of a dict, "number 2" of a tuple. To be called before backward.
[[nodiscard]] std::vector<std::string> untrained_scalars(const c10::IValue& returned,
                                                         const at::Tensor& loss);

}  // namespace elixir::capture
