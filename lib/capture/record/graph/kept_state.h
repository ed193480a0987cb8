// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// State that scripted code keeps in its module by assignment. A captured step cannot carry it to
// the next one; a buffer that is changed in place it can.

#include <torch/csrc/jit/api/module.h>

namespace elixir::capture {

/// Throws kUnsupportedModel, naming the attribute, when forward reads one and assigns it later:
/// each step would need what the one before has assigned.
void refuse_assigned_state(const torch::jit::Module& module);

}  // namespace elixir::capture
