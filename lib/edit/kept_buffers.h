// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The edit that lets evaluation leave the state of training alone. A forward-only program may write
// buffers (`self.n.add_(1)`); here it writes copies of them, made anew each time that it runs.

#include "program/program.h"

namespace elixir::edit {

/// `program` that first copies each buffer that it writes, and uses the copy instead. So the result
/// mutates no buffer. A program that writes none comes back unchanged.
[[nodiscard]] program::Program keep_buffers(program::Program program);

}  // namespace elixir::edit
