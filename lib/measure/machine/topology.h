// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Packages, cores, NUMA nodes and caches, as the kernel reports them under /sys.

#include <sched.h>

#include <string>
#include <vector>

#include "hardware/hardware_profile.h"

namespace elixir::measure {

/// `root` is "/sys"; tests use their own trees. Leaves out what the kernel does not report.
[[nodiscard]] hardware::Topology read_topology(const std::string& root = "/sys");

/// Bytes of all caches of the last level together; 0 when none is reported. (sysconf gives the
/// caches of a whole AMD processor, although this machine may have only a few of its cores.)
[[nodiscard]] std::int64_t last_level_cache_bytes(const hardware::Topology& topology);

/// The CPUs of a NUMA node; empty when there is no such node.
[[nodiscard]] std::vector<int> node_cpus(int node, const std::string& root = "/sys");

/// While it lives, this thread, and threads that it starts, run on the CPUs of one node. Does
/// nothing when the system forbids it or the node is unknown (negative).
class NodeScope {
 public:
  explicit NodeScope(int node);
  ~NodeScope();
  NodeScope(const NodeScope&) = delete;
  NodeScope& operator=(const NodeScope&) = delete;
  [[nodiscard]] bool active() const { return active_; }

 private:
  cpu_set_t before_{};
  bool active_ = false;
};

}  // namespace elixir::measure
