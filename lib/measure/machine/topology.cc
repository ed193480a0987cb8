// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/machine/topology.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "kernels/cpu_affinity.h"

namespace elixir::measure {
namespace {

namespace stdfs = std::filesystem;
using kernels::parse_cpu_list;

/// First line of a file; empty when there is none.
std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int number_of(const std::string& path, int otherwise) {
  const std::string text = line_of(path);
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "48K", "2048K", "480M".
std::int64_t cache_bytes(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return 0;
  const char unit = end < text.data() + text.size() ? *end : 'B';
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : unit == 'G' ? value << 30 : value;
}

/// "Node 0 MemTotal:       24550020 kB"
std::int64_t node_memory_bytes(const std::string& path) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::int64_t kib = 0;
    if (word == "MemTotal:" && file >> kib) return kib << 10;
  }
  return 0;
}

std::string cache_type(const std::string& text) {
  if (text == "Data") return "data";
  return text == "Instruction" ? "instruction" : "unified";
}

}  // namespace

std::vector<int> node_cpus(int node, const std::string& root) {
  return parse_cpu_list(line_of(fmt::format("{}/devices/system/node/node{}/cpulist", root, node)));
}

hardware::Topology read_topology(const std::string& root) {
  hardware::Topology topology;
  std::set<int> packages;
  std::set<std::pair<int, int>> cores;
  std::map<std::tuple<int, std::string, std::int64_t, int>, std::set<std::string>> caches;
  const std::string cpu_root = root + "/devices/system/cpu";
  for (const int cpu : parse_cpu_list(line_of(cpu_root + "/online"))) {
    const std::string here = fmt::format("{}/cpu{}", cpu_root, cpu);
    const int package = number_of(here + "/topology/physical_package_id", 0);
    packages.insert(package);
    cores.insert({package, number_of(here + "/topology/core_id", cpu)});
    for (int index = 0;; ++index) {
      const std::string cache = fmt::format("{}/cache/index{}", here, index);
      std::error_code ignored;
      if (!stdfs::is_directory(cache, ignored)) break;
      const std::string shared = line_of(cache + "/shared_cpu_list");
      const int sharers = static_cast<int>(parse_cpu_list(shared).size());
      caches[{std::max(1, number_of(cache + "/level", 1)),
              cache_type(line_of(cache + "/type")),
              cache_bytes(line_of(cache + "/size")),
              std::max(1, sharers)}]
          .insert(shared);
    }
  }
  topology.packages = std::max<int>(1, static_cast<int>(packages.size()));
  topology.cores = std::max<int>(1, static_cast<int>(cores.size()));
  for (const auto& [kind, places] : caches) {
    const auto& [level, type, bytes, cpus] = kind;
    topology.caches.push_back({level, type, bytes, cpus, static_cast<int>(places.size())});
  }
  const std::string node_root = root + "/devices/system/node";
  for (const int node : parse_cpu_list(line_of(node_root + "/online"))) {
    topology.numa_nodes.push_back(
        {node,
         static_cast<int>(node_cpus(node, root).size()),
         node_memory_bytes(fmt::format("{}/node{}/meminfo", node_root, node))});
  }
  return topology;
}

std::int64_t last_level_cache_bytes(const hardware::Topology& topology) {
  int last = 0;
  std::int64_t bytes = 0;
  for (const auto& cache : topology.caches) {
    if (cache.type == "instruction" || cache.level < last) continue;
    if (cache.level > last) bytes = 0;
    last = cache.level;
    bytes += cache.bytes * cache.count;
  }
  return bytes;
}

NodeScope::NodeScope(int node) {
  if (node < 0 || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : node_cpus(node)) {
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &wanted);
  }
  active_ = CPU_COUNT(&wanted) > 0 && sched_setaffinity(0, sizeof wanted, &wanted) == 0;
}

NodeScope::~NodeScope() {
  if (active_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace elixir::measure
