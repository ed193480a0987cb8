// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which CPUs this process may use, and binding a thread to one of them.

#include <string>
#include <vector>

namespace elixir::kernels {

/// CPUs of the calling thread's affinity mask: the first of every core, ascending, then their
/// siblings. Empty when the system does not say.
[[nodiscard]] std::vector<int> allowed_cpus();

/// Binds the calling thread; false when the system refuses.
[[nodiscard]] bool bind_thread_to(int cpu);

/// A list as the system writes it: "0-3,8,10-11". What does not parse is left out.
[[nodiscard]] std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace elixir::kernels
