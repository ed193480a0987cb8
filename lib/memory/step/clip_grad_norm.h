// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What torch.nn.utils.clip_grad_norm_ asks for before an update: a norm for each gradient, in a
// block of its own. Source: torch/nn/utils/clip_grad.py of PyTorch 2.11, default arguments; on GPUs
// _foreach_norm in ATen/native/cuda/ForeachReduceOp.cu, which sums up pieces of each gradient
// first.

#include "memory/step/update_requests.h"
#include "program/program.h"

namespace elixir::memory {

/// The caller does not keep the norm that it returns.
void clip_grad_norm(const program::Program& program, UpdateRequests& requests);

}  // namespace elixir::memory
