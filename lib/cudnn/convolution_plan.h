// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which of cuDNN's engines LibTorch runs for a convolution, and the workspace that its plan takes.
// LibTorch takes the first engine of cuDNN's heuristics that does not convert its inputs to less
// precision and whose plan can be made. Nothing is executed.
//
// Source: ATen/native/cudnn/Conv_v8.cpp of LibTorch 2.11 (heuristic mode "instant", then the
// fallback; TF32 allowed; tensors aligned to 32 bytes; half precision computed in fp32).

#include <cstdint>
#include <vector>

#include "cudnn/backend.h"
#include "cudnn/device.h"
#include "operators/convolution/convolution_query.h"
#include "operators/convolution/engine_workspace.h"

namespace elixir::cudnn {

/// Throws Failure when no engine can run the convolution.
[[nodiscard]] operators::ConvolutionEngine convolution_engine(
    const Library& library, const Device& device, const operators::ConvolutionQuery& query);

}  // namespace elixir::cudnn
