// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The CPUs that this process may use, and binding a thread to one of them.

#include <string>
#include <vector>

namespace elixir::kernels {

/// The CPUs of the calling thread's affinity mask: the first of every core, ascending, then their
/// siblings. Empty when the system does not report them.
[[nodiscard]] std::vector<int> allowed_cpus();

/// A range of what allowed_cpus() lists.
struct CpuRange {
  int first = 0, count = 1;
};
/// The CPUs on which AdamW's threads run, out of `of_rank`, the CPUs of a rank with a GPU. If there
/// are eight or more, the first one is left to the threads that issue the GPU's work: they need a
/// third of a CPU, but at once. A thread that waits out AdamW's time slice of some milliseconds
/// keeps the GPU waiting, and all ranks with it.
[[nodiscard]] CpuRange adam_cpus(CpuRange of_rank);

/// Binds the calling thread to `cpu`. Returns false when the system refuses.
[[nodiscard]] bool bind_thread_to(int cpu);

/// Parses a list as the system writes it: "0-3,8,10-11". Ignores malformed parts.
[[nodiscard]] std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace elixir::kernels
