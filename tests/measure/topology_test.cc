// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/machine/topology.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace elixir::measure {
namespace {

using ::testing::IsEmpty;

/// Two packages of two cores with two threads each, and one NUMA node per package; L1 per core, L3
/// per package.
class TwoPackages : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / fmt::format("elixir-sys-{}", ::getpid());
    put("devices/system/cpu/online", "0-7");
    put("devices/system/node/online", "0-1");
    for (int node = 0; node < 2; ++node) {
      const std::string at = fmt::format("devices/system/node/node{}", node);
      put(at + "/cpulist", node == 0 ? "0-3" : "4-7");
      put(at + "/meminfo", fmt::format("Node {} MemTotal:       1024 kB", node));
    }
    for (int cpu = 0; cpu < 8; ++cpu) {
      const std::string at = fmt::format("devices/system/cpu/cpu{}", cpu);
      put(at + "/topology/physical_package_id", std::to_string(cpu / 4));
      put(at + "/topology/core_id", std::to_string(cpu / 2 % 2));
      const int first = cpu / 2 * 2;
      cache(at + "/cache/index0", "1", "Data", "48K", fmt::format("{}-{}", first, first + 1));
      cache(at + "/cache/index1", "3", "Unified", "32M", cpu < 4 ? "0-3" : "4-7");
    }
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void cache(const std::string& at,
             const char* level,
             const char* type,
             const char* size,
             const std::string& shared) const {
    put(at + "/level", level);
    put(at + "/type", type);
    put(at + "/size", size);
    put(at + "/shared_cpu_list", shared);
  }
  std::filesystem::path root_;
};

TEST_F(TwoPackages, AreReadFromTheTree) {
  const hardware::Topology topology = read_topology(root_.string());
  EXPECT_EQ(topology.packages, 2);
  EXPECT_EQ(topology.cores, 4);
  ASSERT_EQ(topology.numa_nodes.size(), 2U);
  EXPECT_EQ(topology.numa_nodes[1].node, 1);
  EXPECT_EQ(topology.numa_nodes[1].logical_cpus, 4);
  EXPECT_EQ(topology.numa_nodes[1].memory_bytes, 1024 * 1024);
  ASSERT_EQ(topology.caches.size(), 2U);
  EXPECT_EQ(topology.caches[0].level, 1);
  EXPECT_EQ(topology.caches[0].type, "data");
  EXPECT_EQ(topology.caches[0].bytes, 48 * 1024);
  EXPECT_EQ(topology.caches[0].cpus, 2);
  EXPECT_EQ(topology.caches[0].count, 4);
  EXPECT_EQ(topology.caches[1].bytes, 32 * 1024 * 1024);
  EXPECT_EQ(topology.caches[1].count, 2);
  EXPECT_EQ(last_level_cache_bytes(topology), 64 * 1024 * 1024);
}

TEST(Topology, OfAMachineThatShowsNothingIsOneCore) {
  const hardware::Topology topology = read_topology("/nowhere");
  EXPECT_EQ(topology.packages, 1);
  EXPECT_EQ(topology.cores, 1);
  EXPECT_THAT(topology.caches, IsEmpty());
  EXPECT_EQ(last_level_cache_bytes(topology), 0);
}

TEST(NodeScope, BindsAndRestores) {
  cpu_set_t before, after;
  sched_getaffinity(0, sizeof before, &before);
  {
    const NodeScope unknown(-1);
    EXPECT_FALSE(unknown.active());
    const NodeScope missing(1 << 20);
    EXPECT_FALSE(missing.active());
    const NodeScope first(0);
    if (first.active()) {
      cpu_set_t inside;
      sched_getaffinity(0, sizeof inside, &inside);
      EXPECT_LE(CPU_COUNT(&inside), static_cast<int>(node_cpus(0).size()));
    }
  }
  sched_getaffinity(0, sizeof after, &after);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace elixir::measure
