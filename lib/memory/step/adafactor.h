// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What torch.optim.Adafactor asks for in an update. It has no fused form. Source:
// torch/optim/_adafactor.py of PyTorch 2.11, default arguments. The names below are the names of
// its variables. Tensors of two and more dimensions are matrices to it; all others are vectors.

#include "memory/step/update_requests.h"
#include "program/program.h"

namespace elixir::memory {

/// foreach=False, its default
void adafactor_loop(const program::Program& program, UpdateRequests& requests);
/// foreach=True
void adafactor_foreach(const program::Program& program, UpdateRequests& requests);

}  // namespace elixir::memory
