// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// For which GPUs LibTorch has kernels. A table, so that the answer is the same on every machine and
// with LibTorch's CPU build.

#include "program/program.h"

namespace elixir::capture {

/// kWrongTarget for a compute capability that this LibTorch cannot run on, naming those it can.
void check_target(const program::Target& target);

}  // namespace elixir::capture
