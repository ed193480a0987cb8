// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The GPUs for which LibTorch has kernels. It is a table, so that the answer is the same on every
// machine and with LibTorch's CPU build.

#include "program/program.h"

namespace elixir::capture {

/// Throws kWrongTarget for a compute capability that this LibTorch does not support. The error
/// lists those that it supports.
void check_target(const program::Target& target);

}  // namespace elixir::capture
