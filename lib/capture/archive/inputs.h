// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Inputs of one capture: shapes from the options or from the archive, as arguments of forward.

#include <optional>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "capture/record/arguments/values.h"

namespace elixir::capture {

struct StepInputs {
  std::vector<std::string> names;
  std::vector<at::Tensor>
      tensors;       ///< all inputs of the step, in forward's order; a target for the loss last
  Values arguments;  ///< forward's, without self
};

/// Meta tensors, or real ones filled with zeros (integers) and ones (floating point).
/// kBadInputSpec.
[[nodiscard]] StepInputs make_inputs(const Model& model,
                                     const Options& options,
                                     c10::Device device,
                                     std::optional<at::ScalarType> floating);

}  // namespace elixir::capture
