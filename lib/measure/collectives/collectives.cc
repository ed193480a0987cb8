// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Rates of NCCL's collectives by operation, size and number of GPUs.
#include "measure/collectives/collectives.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

struct Named {
  CollectiveOperation operation;
  const char* name;
};
constexpr Named kOperations[] = {{CollectiveOperation::kAllGather, "all_gather"},
                                 {CollectiveOperation::kReduceScatter, "reduce_scatter"},
                                 {CollectiveOperation::kAllReduce, "all_reduce"},
                                 {CollectiveOperation::kBroadcast, "broadcast"}};

constexpr std::int64_t kSmallestMessageBytes = 4_KiB, kMessageFactor = 8;
/// Smaller collectives are timed many at once, because a single one is mostly start-up time.
constexpr std::int64_t kLarge = 16_MiB;
constexpr int kCallsOfSmall = 20, kCallsOfLarge = 4;

hardware::Collective measure_one(CollectiveGroup& group,
                                 const Named& what,
                                 int gpus,
                                 std::int64_t most,
                                 const Sampling& sampling) {
  hardware::Collective found;
  found.operation = what.name;
  found.gpus = gpus;
  for (std::int64_t bytes = kSmallestMessageBytes; bytes <= most; bytes *= kMessageFactor) {
    const int calls = bytes < kLarge ? kCallsOfSmall : kCallsOfLarge;
    const std::vector<double> seconds =
        group.seconds(what.operation, static_cast<std::size_t>(bytes), calls, sampling);
    hardware::CollectivePoint point;
    point.bytes = bytes;
    point.time_ns = time_figure(seconds,
                                fmt::format("{} of {} over {} GPUs, fp32, mean of {}, from the "
                                            "common start to the last end",
                                            what.name,
                                            format_bytes(bytes),
                                            gpus,
                                            calls));
    point.algorithm_bytes_per_s = static_cast<double>(bytes) / (point.time_ns.median * 1e-9);
    point.bus_bytes_per_s = point.algorithm_bytes_per_s * bus_factor(what.operation, gpus);
    found.points.push_back(std::move(point));
  }
  found.latency_ns = found.points.front().time_ns;
  return found;
}

const Registration kCollectives({
    "collectives",
    "algorithm and bus bandwidth of NCCL's all-gather, reduce-scatter, all-reduce and broadcast by "
    "size, and the time of a 4 KiB call, for 2, 4, 8 … GPUs",
    "in one process, calls in a row on one stream a GPU; definitions of nccl-tests; results "
    "checked",
    12.0,
    3.0,
    [](const Bench& bench) -> std::optional<std::string> {
      if (!bench.on_cuda()) return unless_cuda(bench);
      return collectives_unavailable(bench.gpus);
    },
    [](const Bench& bench, hardware::HardwareProfile& profile) {
      const Sampling sampling = bench.by_effort(Sampling{1, 5, 20, 0.05}, Sampling{1, 3, 5, 0.01});
      // 4 KiB times powers of eight: up to 1 GiB, or 16 MiB.
      const std::int64_t most = std::min(bench.by_effort<std::int64_t>(1_GiB, 16_MiB),
                                         profile.gpus.at(0).memory_bytes / 8);
      std::vector<hardware::Collective> found;
      for (const int gpus : bench.gpus_at_once()) {
        CollectiveGroup group(gpus, static_cast<std::size_t>(most));
        for (const Named& what : kOperations) {
          found.push_back(measure_one(group, what, gpus, most, sampling));
        }
      }
      profile.collectives = std::move(found);
    },
    /*uses_nccl=*/true,
});

}  // namespace

double bus_factor(CollectiveOperation operation, int gpus) {
  const double n = gpus;
  switch (operation) {
    case CollectiveOperation::kAllReduce:
      return 2 * (n - 1) / n;
    case CollectiveOperation::kAllGather:
    case CollectiveOperation::kReduceScatter:
      return (n - 1) / n;
    case CollectiveOperation::kBroadcast:
      break;
  }
  return 1;
}

}  // namespace elixir::measure
