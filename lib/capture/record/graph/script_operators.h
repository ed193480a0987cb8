// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Replaces TorchScript's own operators that access a tensor's memory without the dispatcher:
// torch.tensor of numbers, and tolist(). The interpreter runs them, so no fallback sees them, and a
// meta tensor has no memory. During a capture, tensors of numbers become constants, and a list made
// from step data is refused. What a script asks of a device is answered for the target. Integer
// divisions of TorchScript are checked before they trap.

#include <torch/csrc/jit/api/module.h>

namespace elixir::capture {

/// Installs our operators in place of LibTorch's, which they call. The caller must do this once per
/// process, before the first model is loaded. Repeated calls are cheap.
void install_script_operators();

/// Same for what a module's code asks of tensors by instructions of the interpreter. Call it once,
/// before the module runs; an archive of the module could no longer be loaded elsewhere.
void guard_lists(const torch::jit::Module& module);

}  // namespace elixir::capture
