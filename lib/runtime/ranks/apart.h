// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Work that may never come back, because a library in it waits for others without a limit. It has a
// thread of its own, which nobody waits for. While it runs the process must end by _exit:
// destructors of libraries would take away what it uses.

#include <functional>

namespace elixir::runtime {

/// `work` must own what it uses.
void run_apart(std::function<void()> work);

/// Whether some of it still runs.
[[nodiscard]] bool works_apart();

}  // namespace elixir::runtime
