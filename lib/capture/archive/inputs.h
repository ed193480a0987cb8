// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The inputs of one capture: shapes from the options or the archive, as arguments of forward.

#include <optional>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "capture/record/arguments/values.h"

namespace elixir::capture {

struct StepInputs {
  std::vector<std::string> names;
  std::vector<at::Tensor> tensors;  ///< all inputs in forward's order; the loss target is last
  Values arguments;                 ///< forward's arguments, without self
};

/// Meta tensors, or real tensors filled with zeros (integers) and ones (floating point). Throws
/// kBadInputSpec.
[[nodiscard]] StepInputs make_inputs(const Model& model,
                                     const Options& options,
                                     c10::Device device,
                                     std::optional<at::ScalarType> floating);

}  // namespace elixir::capture
