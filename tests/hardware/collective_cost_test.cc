// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/collective_cost.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/units.h"
#include "fakes/hardware.h"
#include "hardware/operator_cost.h"

namespace elixir::hardware {
namespace {

TEST(CollectiveCost, OfTheMeasuredGroupIsAsMeasured) {
  const CollectiveCost cost(fakes::machine_of(2), {.world = 2, .per_node = 2});
  EXPECT_EQ(cost.basis(), "measured");
  // Half of a GiB comes in, at 100 GB/s.
  EXPECT_NEAR(cost.all_gather_ns(1_GiB), 0.5 * 0x1p30 / 100, 1);
  EXPECT_NEAR(cost.all_gather_ns(512_MiB), 0.25 * 0x1p30 / 100, 1);
  EXPECT_NEAR(cost.all_gather_ns(4_GiB), 2.0 * 0x1p30 / 100, 1);
  EXPECT_EQ(cost.all_to_all_ns(1_GiB), cost.all_gather_ns(1_GiB));
  // What is smaller takes as long as the smallest measured.
  EXPECT_EQ(cost.all_gather_ns(8), cost.all_gather_ns(1_MiB));
  EXPECT_EQ(cost.all_gather_ns(0), 0);
}

TEST(CollectiveCost, OfAnotherGroupIsModelledByWhatComesIn) {
  const CollectiveCost cost(fakes::machine_of(2), {.world = 8, .per_node = 8});
  EXPECT_EQ(cost.basis(), "modelled from all-gathers of 2 GPUs");
  EXPECT_NEAR(cost.all_gather_ns(1_GiB), 7.0 / 8 * 0x1p30 / 100, 1);
}

TEST(CollectiveCost, OverANetworkTheSlowerWayCounts) {
  const Ranks slow{.world = 4, .per_node = 2, .network_bytes_per_s = 10e9};
  const CollectiveCost cost(fakes::machine_of(2), slow);
  EXPECT_EQ(cost.basis(),
            "modelled from all-gathers of 2 GPUs and 10 GB/s of network for each GPU");
  // Half of the bytes are on the other machine. Gathered, two GPUs bring them in; sent to each GPU,
  // every GPU gets its own.
  EXPECT_NEAR(cost.all_gather_ns(1_GiB), 0.25 * 0x1p30 / 10, 1);
  EXPECT_NEAR(cost.all_to_all_ns(1_GiB), 0.5 * 0x1p30 / 10, 1);
  const Ranks fast{.world = 4, .per_node = 2, .network_bytes_per_s = 1e15};
  EXPECT_NEAR(
      CollectiveCost(fakes::machine_of(2), fast).all_gather_ns(1_GiB), 0.75 * 0x1p30 / 100, 1);
}

TEST(CollectiveCost, OfSeveralReplicasStaysAmongTheirGpus) {
  // Two machines of four: a replica in each.
  const Ranks ranks{.world = 8, .per_node = 4, .replicas = 2, .network_bytes_per_s = 10e9};
  const CollectiveCost cost(fakes::machine_of(2), ranks);
  EXPECT_NEAR(cost.all_gather_ns(1_GiB), 0.75 * 0x1p30 / 100, 1);
  EXPECT_NE(cost.basis().find("; nobody has timed replicas on GPUs"), std::string::npos);
  // Half of a shard comes from the other machine.
  EXPECT_NEAR(cost.share_parts_ns(1_GiB), 0.5 * 0x1p30 / 10, 1);
  // Gradients go to everybody.
  EXPECT_NEAR(cost.all_to_all_ns(1_GiB), 0.5 * 0x1p30 / 10, 1);
  // Each GPU has all: nothing is gathered, and half of what it lacks is in its machine.
  Ranks everything = ranks;
  everything.replicas = 8;
  EXPECT_EQ(CollectiveCost(fakes::machine_of(2), everything).all_gather_ns(1_GiB), 0);
  EXPECT_NEAR(CollectiveCost(fakes::machine_of(2), everything).share_parts_ns(1_GiB),
              0.5 * 0x1p30 / 4 / 10,
              1);
  EXPECT_EQ(CollectiveCost(fakes::machine_of(2), {.world = 8, .per_node = 8}).share_parts_ns(1), 0);
}

TEST(CollectiveCost, OfSumsByNcclIsThatOfARing) {
  // Two machines of four. Three quarters of all come from the other GPUs of a machine, at 100 GB/s;
  // half of all from the other machine, over the ways of four GPUs. Sent to the GPU that keeps it,
  // half would come in at each.
  Ranks ranks{.world = 8, .per_node = 4, .network_bytes_per_s = 1e9};
  const double ring_ns = 0.5 * 0x1p30 / 4;
  EXPECT_NEAR(CollectiveCost(fakes::machine_of(2), ranks).reduce_scatter_ns(1_GiB), ring_ns, 1);
  EXPECT_NEAR(CollectiveCost(fakes::machine_of(2), ranks).all_to_all_ns(1_GiB), 4 * ring_ns, 1);
  // A replica in each machine: each adds up inside, then shards of a quarter go both ways.
  ranks.replicas = 2;
  EXPECT_NEAR(CollectiveCost(fakes::machine_of(2), ranks).reduce_scatter_ns(1_GiB),
              0.75 * 0x1p30 / 100 + 2 * 0.5 * 0.25 * 0x1p30,
              1);
  // Each has everything.
  ranks.replicas = 8;
  EXPECT_NEAR(CollectiveCost(fakes::machine_of(2), ranks).reduce_scatter_ns(1_GiB), 2 * ring_ns, 1);
}

TEST(CollectiveCost, OfGpusThatReachEachOtherIsThatOfCopies) {
  HardwareProfile machine = fakes::machine_of(2);
  const auto peer = [](int from, int to, double bytes_per_s) {
    PeerRate rate{.from = from, .to = to, .direct = true, .bytes_per_s = {}, .latency_ns = {}};
    rate.bytes_per_s.median = bytes_per_s;
    rate.latency_ns.median = 5000;
    return rate;
  };
  machine.links.peers = {peer(0, 1, 400e9), peer(1, 0, 200e9)};
  const Ranks ranks{.world = 4, .per_node = 4};
  const CollectiveCost cost(machine, ranks);
  EXPECT_EQ(cost.basis(), "modelled from copies between two GPUs, one way at a time");
  EXPECT_NEAR(cost.all_gather_ns(1_GiB), 3 * 5000 + 0.75 * 0x1p30 / 200, 1);
  EXPECT_NEAR(cost.all_to_all_ns(1_GiB), 3 * 5000 + 0.75 * 0x1p30 / 200, 1);
  EXPECT_NEAR(cost.broadcast_ns(1_GiB), 3 * 5000 + 3 * 0x1p30 / 200, 1) << "from all to all";
  // Copies leave the multiprocessors to operators; what they take is measured.
  EXPECT_EQ(CostModel(machine, ranks).gpu_contention().collective.compute, 1);
  machine.contention.push_back(
      {.work = "matmul", .beside = "peer_copy", .slowdown = fakes::figure(1.1)});
  machine.contention.push_back(
      {.work = "rank_sum", .beside = "matmul", .slowdown = fakes::figure(5)});
  EXPECT_EQ(CostModel(machine, ranks).gpu_contention().collective.compute, 1.1);
  EXPECT_EQ(CostModel(machine, ranks).gpu_contention().sums.other, 5);
  machine.contention.push_back(
      {.work = "matmul", .beside = "host_to_device", .slowdown = fakes::figure(1.05)});
  machine.contention.push_back(
      {.work = "matmul", .beside = "device_to_host", .slowdown = fakes::figure(1.03)});
  EXPECT_EQ(CostModel(machine, ranks).gpu_contention().compute_beside_to_device, 1.05);
  EXPECT_EQ(CostModel(machine, ranks).gpu_contention().compute_beside_to_host, 1.03);

  machine.links.peers[0].direct = false;
  EXPECT_FALSE(CollectiveCost(machine, ranks).copies());
  const Ranks apart{.world = 4, .per_node = 2};
  machine.links.peers[0].direct = true;
  EXPECT_FALSE(CollectiveCost(machine, apart).copies()) << "another machine's memory";
}

TEST(CollectiveCost, BeyondTimesThatFallIsNotBelowThem) {
  HardwareProfile machine = fakes::machine_of(2);
  for (Collective& each : machine.collectives) {
    if (each.operation != "all_gather") continue;
    ASSERT_GE(each.points.size(), 2U);
    each.points.back().time_ns.median = (each.points.end() - 2)->time_ns.median / 2;
    const double least_ns = each.points.back().time_ns.median;
    EXPECT_GE(CollectiveCost(machine, {.world = 2, .per_node = 2}).all_gather_ns(1_GiB), least_ns);
  }
}

TEST(CollectiveCost, ThatNobodyMeasuredIsAnErrorThatNamesTheMeasurement) {
  const CostModel cost(fakes::machine(true), {.world = 2, .per_node = 2});
  try {
    (void)cost.all_gather_ns(8);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kJsonMissingKey);
    EXPECT_NE(error.info().message.find("collectives"), std::string::npos);
  }
}

TEST(CostModel, RanksOfAMachineContendAsThatManyGpusDid) {
  HardwareProfile machine = fakes::machine_of(2);
  for (const auto& [gpus, slowdown] : {std::pair(2, 3.0), std::pair(1, 1.5), std::pair(8, 9.0)}) {
    machine.contention.push_back({.work = "host_to_device",
                                  .beside = "adam_cpu",
                                  .gpus = gpus,
                                  .slowdown = fakes::figure(slowdown)});
  }
  const auto slowdown = [&](int per_node) {
    return CostModel(machine, {.world = 4, .per_node = per_node})
        .host_contentions()[0]
        .to_device.second;
  };
  EXPECT_EQ(slowdown(1), 1.5);
  EXPECT_EQ(slowdown(2), 3);
  EXPECT_EQ(slowdown(4), 3) << "the most that were measured";
}

TEST(CostModel, EachPassOfAdamWContendsAsMeasured) {
  HardwareProfile machine = fakes::machine(true);
  const auto add = [&](const char* work, const char* beside, double slowdown) {
    machine.contention.push_back(
        {.work = work, .beside = beside, .slowdown = fakes::figure(slowdown)});
  };
  const auto contention = [&](AdamWrites writes) {
    return CostModel(machine).host_contentions()[static_cast<std::size_t>(writes)];
  };
  add("adam_cpu", "host_to_device", 1.4);
  add("host_to_device", "adam_cpu", 1.6);
  for (const auto writes : {AdamWrites::kAll, AdamWrites::kParameters, AdamWrites::kMoments}) {
    EXPECT_EQ(contention(writes).cpu.first, 1.4) << "older documents have one pass for all";
    EXPECT_EQ(contention(writes).to_device.second, 1.6);
  }
  add("adam_cpu_moments", "host_to_device", 1.1);
  add("host_to_device", "adam_cpu_moments", 2.5);
  EXPECT_EQ(contention(AdamWrites::kMoments).cpu.first, 1.1);
  EXPECT_EQ(contention(AdamWrites::kMoments).to_device.second, 2.5);
  EXPECT_EQ(contention(AdamWrites::kParameters).cpu.first, 1.4);
  EXPECT_EQ(contention(AdamWrites::kAll).to_device.second, 1.6);
}

TEST(CostModel, RanksOfAMachineShareItsCores) {
  const HardwareProfile two = fakes::machine_of(2);
  const AdamForm form{.gradient = program::DType::kFloat32};
  const double alone = CostModel(two).adam_cpu_ns(1000, form);
  EXPECT_EQ(CostModel(two, {.world = 2, .per_node = 2}).adam_cpu_ns(1000, form), 2 * alone);
  EXPECT_EQ(CostModel(two, {.world = 2, .per_node = 1}).adam_cpu_ns(1000, form), alone);
  // A machine of eight is taken for four of these.
  EXPECT_EQ(CostModel(two, {.world = 8, .per_node = 8}).adam_cpu_ns(1000, form), 2 * alone);
}

TEST(CostModel, LinksAreThoseOfAsManyGpusAsWereMeasuredTogether) {
  HardwareProfile two = fakes::machine_of(2);
  two.links.host_to_device.push_back(
      {.gpus = 2, .bytes_per_s = fakes::figure(16e9), .latency_ns = fakes::figure(0)});
  EXPECT_NEAR(CostModel(two).host_to_device_ns(10'000'000), 1e6, 1);
  EXPECT_NEAR(CostModel(two, {.world = 2, .per_node = 2}).host_to_device_ns(8'000'000), 1e6, 1);
  EXPECT_NEAR(CostModel(two, {.world = 8, .per_node = 8}).host_to_device_ns(8'000'000), 1e6, 1);
}

}  // namespace
}  // namespace elixir::hardware
