// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The last resort for an operator without geometry: runs the CPU kernel on zeros to learn it. The
// operator is still noted as missing. So the capture continues and reports all missing operators
// together.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "capture/record/arguments/values.h"
#include "capture/record/dispatch/session.h"

namespace elixir::capture {

/// Replaces the arguments on top of `stack` by meta results. Throws kMissingKernel, with everything
/// found so far, when the CPU has no kernel either or the tensors are too large.
void run_cpu_kernel_for_geometry(Session& session,
                                 const c10::OperatorHandle& op,
                                 const Values& arguments,
                                 torch::jit::Stack* stack);

/// The error for everything in `session.findings().missing()`.
[[nodiscard]] Error missing_kernels(const Session& session);

}  // namespace elixir::capture
