// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/cpu_affinity.h"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

namespace elixir::kernels {
namespace {

constexpr int kMostCpus = 8192;

struct FreeMask {
  void operator()(cpu_set_t* mask) const { CPU_FREE(mask); }
};
using Mask = std::unique_ptr<cpu_set_t, FreeMask>;

/// The number of allowed CPUs of the same core that come before `cpu`.
int rank_in_core(int cpu, const std::vector<int>& allowed) {
  std::ostringstream path;
  path << "/sys/devices/system/cpu/cpu" << cpu << "/topology/thread_siblings_list";
  std::ifstream file(path.str());
  std::string text;
  std::getline(file, text);
  int rank = 0;
  for (const int sibling : parse_cpu_list(text)) {
    if (sibling < cpu && std::binary_search(allowed.begin(), allowed.end(), sibling)) ++rank;
  }
  return rank;
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    char* end = nullptr;
    const long first = std::strtol(part.c_str(), &end, 10);
    if (end == part.c_str() || first < 0) continue;
    const long last = *end == '-' ? std::strtol(end + 1, nullptr, 10) : first;
    if (last >= kMostCpus) continue;
    for (long cpu = first; cpu <= last; ++cpu) {
      cpus.push_back(static_cast<int>(cpu));
    }
  }
  return cpus;
}

std::vector<int> allowed_cpus() {
  const std::size_t size = CPU_ALLOC_SIZE(kMostCpus);
  const Mask mask(CPU_ALLOC(kMostCpus));
  if (!mask || sched_getaffinity(0, size, mask.get()) != 0) return {};
  std::vector<int> allowed;
  for (int cpu = 0; cpu < kMostCpus; ++cpu) {
    if (CPU_ISSET_S(cpu, size, mask.get())) allowed.push_back(cpu);
  }
  std::vector<std::pair<int, int>> ranked;
  ranked.reserve(allowed.size());
  for (const int cpu : allowed) ranked.emplace_back(rank_in_core(cpu, allowed), cpu);
  std::sort(ranked.begin(), ranked.end());
  std::transform(
      ranked.begin(), ranked.end(), allowed.begin(), [](const auto& r) { return r.second; });
  return allowed;
}

CpuRange adam_cpus(CpuRange of_rank) {
  constexpr int kEnoughToLeaveOne = 8;
  if (of_rank.count < kEnoughToLeaveOne) return of_rank;
  return {of_rank.first + 1, of_rank.count - 1};
}

bool bind_thread_to(int cpu) {
  if (cpu < 0 || cpu >= kMostCpus) return false;
  const std::size_t size = CPU_ALLOC_SIZE(kMostCpus);
  const Mask mask(CPU_ALLOC(kMostCpus));
  if (!mask) return false;
  CPU_ZERO_S(size, mask.get());
  CPU_SET_S(cpu, size, mask.get());
  return sched_setaffinity(0, size, mask.get()) == 0;
}

}  // namespace elixir::kernels
