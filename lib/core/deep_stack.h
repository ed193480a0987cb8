// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Runs a function on its own thread with a large stack. Use it for library parsers that recurse
// deeply. The stack costs memory only where it is touched.

#include <functional>

namespace elixir {

/// Returns when `work` returns, and rethrows what `work` throws. Called from such a thread, it runs
/// `work` there. Throws kOutOfMemory when there is no room for the stack.
void run_on_deep_stack(const std::function<void()>& work);

}  // namespace elixir
