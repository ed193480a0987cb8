// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the process that reads a model file has said (model/model_file.h), as tensors.

#include <string>

#include <ATen/core/Tensor.h>

#include "capture/capture.h"
#include "model/model_file.h"

namespace elixir::capture {

/// The program with its constants.
[[nodiscard]] Captured with_tensors(model::Captured captured);

/// The data of a parameter or buffer, on the CPU, by any of its names. Throws kBufferWithoutData,
/// kTruncatedArchive, kWeightsMismatch.
[[nodiscard]] at::Tensor read_state(const model::ModelFile& model, const std::string& name);

}  // namespace elixir::capture
