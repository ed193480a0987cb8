// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A call as the dispatcher hands it to a boxed fallback: its arguments lie on top of the stack, and
// its results take their place.

#include <cstddef>
#include <utility>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "capture/record/arguments/values.h"

namespace elixir::capture {

/// The keys of a call that comes after `key`.
inline c10::DispatchKeySet after(c10::DispatchKeySet keys, c10::DispatchKey key) {
  return keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, key);
}

/// A view of the stack.
inline c10::ArrayRef<c10::IValue> arguments_of(const c10::OperatorHandle& op,
                                               const torch::jit::Stack& stack) {
  const std::size_t count = op.schema().arguments().size();
  return c10::ArrayRef<c10::IValue>(stack.data() + stack.size() - count, count);
}

inline void replace_by_results(const c10::OperatorHandle& op,
                               torch::jit::Stack& stack,
                               Values results) {
  stack.resize(stack.size() - op.schema().arguments().size());
  for (c10::IValue& result : results) stack.push_back(std::move(result));
}

}  // namespace elixir::capture
