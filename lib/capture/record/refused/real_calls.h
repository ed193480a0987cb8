// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Calls on real data while a model is loaded or captured. Such a call is for what must have values:
// constants and shapes. LibTorch has kernels that check nothing, so a call on real data must be of
// an operator that is known to check its arguments, and no result may reach beyond its storage.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace elixir::capture {

/// Whether an operator may compute with real data: LibTorch's core operators, pointwise ones, their
/// other forms (in place, into a result), and some of a list.
[[nodiscard]] bool may_compute_constants(const c10::OperatorHandle& op);

/// Whether each result of a call, on top of `stack`, lies within its storage.
[[nodiscard]] bool results_are_within_storage(const c10::OperatorHandle& op,
                                              const torch::jit::Stack& stack);

/// Fills results with zeros where the operator leaves memory as it finds it: what was there before
/// is no part of a model.
void clear_uninitialised(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

}  // namespace elixir::capture
