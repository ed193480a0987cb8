// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Runs a function on a thread of its own with a stack for deep recursion: for parsers of libraries,
// whose depth is bounded by a check of what they read. Memory is taken as it is touched.

#include <functional>

namespace elixir {

/// Returns when `work` has; rethrows what it throws. kOutOfMemory when there is no room for a
/// stack.
void run_on_deep_stack(const std::function<void()>& work);

}  // namespace elixir
