// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One call on meta: where its results belong, what its arguments become, and who says its geometry.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "capture/record/dispatch/session.h"

namespace elixir::capture {

/// Runs a call below autograd. CPU tensors stay real (constants, shape arithmetic); beside a meta
/// tensor they become meta for this call alone.
void run_on_meta(Session& session,
                 const c10::OperatorHandle& op,
                 c10::DispatchKeySet keys,
                 torch::jit::Stack* stack);

}  // namespace elixir::capture
