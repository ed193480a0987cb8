// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/machine/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "capture/host_cpu.h"
#include "measure/machine/topology.h"

namespace elixir::measure {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return "unknown";
}

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Reads a limit file: a number, "max", or in version 1 a number near 2^63, which means no limit.
std::int64_t read_limit(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value && value > 0) return value;
  return std::numeric_limits<std::int64_t>::max();
}

/// The limit of this process's control group and all groups above it.
std::int64_t control_group_limit() {
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  const auto climb = [&](const std::string& root, std::string group, const std::string& file) {
    while (true) {
      limit = std::min(limit, read_limit(fmt::format("{}{}/{}", root, group, file)));
      const std::size_t slash = group.rfind('/');
      if (slash == std::string::npos || group.empty()) break;
      group.resize(slash);
    }
  };
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) climb("/sys/fs/cgroup", group, "memory.max");
    if (controllers == "memory") {
      climb("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    }
  }
  return limit;
}

}  // namespace

std::int64_t host_memory_limit_bytes() {
  const std::int64_t physical =
      static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return std::min(physical, control_group_limit());
}

std::int64_t last_level_cache_bytes() {
  static const std::int64_t bytes = last_level_cache_bytes(read_topology());
  return bytes;
}

hardware::Machine describe_machine(int threads) {
  return {cpu_model(),
          capture::host_cpu_isa(),
          usable_cpus(),
          threads,
          host_memory_limit_bytes(),
          read_topology()};
}

}  // namespace elixir::measure
