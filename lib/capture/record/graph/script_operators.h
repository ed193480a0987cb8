// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// TorchScript's own operators that read or write a tensor's memory behind the dispatcher's back:
// torch.tensor of numbers, and tolist(). They run as the interpreter's, so no fallback sees them,
// and a meta tensor has no memory. While a capture runs, tensors of numbers are constants, and a
// list made from step data is refused. Divisions of its integers are checked before they trap.

#include <torch/csrc/jit/api/module.h>

namespace elixir::capture {

/// Puts ours in the place of LibTorch's, which they call; once a process, before the first model is
/// loaded. Cheap to repeat.
void install_script_operators();

/// The same for the lists that a module's code makes from tensors; once, before the module runs.
void guard_lists(const torch::jit::Module& module);

}  // namespace elixir::capture
