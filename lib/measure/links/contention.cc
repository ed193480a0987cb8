// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measures how much works slow each other down when they run at once.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "measure/adam/adam_chunks.h"
#include "measure/collectives/collectives.h"
#include "measure/links/contending_work.h"
#include "measure/machine/machine.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

/// One work, on each GPU that does it at once. The first is measured.
using Group = std::vector<std::unique_ptr<ContendingWork>>;
using Groups = std::vector<Group>;

// As many as a large chunk has.
constexpr std::size_t kSummedElements = 64_MiB;

/// Of the spread memory, where each GPU copies both ways, AdamW runs and a share stays free.
std::size_t at_most_a_share(const Bench& bench, std::int64_t wanted) {
  const std::size_t share = bench.spread->bytes() / (2 * static_cast<std::size_t>(bench.gpus) + 2);
  return std::min(static_cast<std::size_t>(wanted), share);
}

std::size_t copied_bytes(const Bench& bench) {
  const std::int64_t wanted = bench.by_effort<std::int64_t>(128_MiB, 64_MiB);
  return at_most_a_share(bench, wanted * SpreadMemory::kStripes) / SpreadMemory::kStripes;
}

/// So many that caches do not help: eight times the last one.
std::size_t adam_parameters(const Bench& bench) {
  const std::int64_t bytes =
      std::max(bench.by_effort<std::int64_t>(2_GiB, 1_GiB), 8 * last_level_cache_bytes());
  return at_most_a_share(bench, bytes) / AdamChunks::kBytesPerParameter;
}

Group alone(std::unique_ptr<ContendingWork> work) {
  Group group;
  group.push_back(std::move(work));
  return group;
}

Group peer_copies(const Bench& bench) {
  Group copies;
  for (int gpu = 0; gpu < bench.gpus; ++gpu) {
    copies.push_back(make_peer_copy_work(copied_bytes(bench), gpu, (gpu + 1) % bench.gpus));
  }
  return copies;
}

/// What a step of as many ranks does on the host's memory.
Groups users_of_host_memory(const Bench& bench, int gpus) {
  Groups groups;
  for (const auto direction :
       {hardware::Direction::kHostToDevice, hardware::Direction::kDeviceToHost}) {
    Group copies;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      copies.push_back(make_link_work(direction, copied_bytes(bench), *bench.spread, gpu));
    }
    groups.push_back(std::move(copies));
  }
  for (auto& pass :
       make_adam_cpu_works(adam_parameters(bench), *bench.spread, rank_pools(bench, gpus))) {
    groups.push_back(alone(std::move(pass)));
  }
  return groups;
}

Groups works_on_the_cpu(const Bench& bench) {
  // They share out the cores, so they contend only for memory.
  const int threads = bench.pool->threads(), half = std::max(1, threads / 2);
  const std::size_t bytes = at_most_a_share(bench, bench.by_effort<std::int64_t>(256_MiB, 128_MiB));
  Groups groups;
  RankAdam::Pools pools;
  pools.push_back(std::make_unique<kernels::ThreadPool>(half));
  auto adam = make_adam_cpu_works(adam_parameters(bench), *bench.spread, std::move(pools));
  groups.push_back(alone(std::move(adam.front())));
  groups.push_back(alone(make_host_copy_work(bytes, std::max(1, threads - half))));
  return groups;
}

Groups works_on_the_gpu(const Bench& bench) {
  Groups groups = users_of_host_memory(bench, 1);
  groups.push_back(alone(make_matmul_work(bench.by_effort(8192, 4096))));
  groups.push_back(alone(make_rank_sum_work(kSummedElements)));
  if (bench.gpus > 1) groups.push_back(peer_copies(bench));
  if (!collectives_unavailable(bench.gpus)) {
    const auto bytes = bench.by_effort<std::size_t>(128_MiB, 32_MiB);
    groups.push_back(alone(make_collective_work(bench.gpus, bytes)));
  }
  return groups;
}

std::string name_of(const Group& group) {
  return group.front()->name();
}

bool is_link(const Group& group) {
  const std::string name = name_of(group);
  return name == "host_to_device" || name == "device_to_host";
}

std::optional<hardware::AdamWrites> adam_pass(const Group& group) {
  return hardware::kContendingAdam.named(name_of(group));
}

/// Whether a training step does both at once. What ranks exchange shares a GPU with products. The cores do
/// one pass of AdamW at a time, and those that write a part differ in how they treat copies.
bool meet(const Group& group, const Group& other) {
  if (adam_pass(group) && adam_pass(other)) return false;
  const auto writes_a_part = [](const Group& it) {
    return adam_pass(it).value_or(hardware::AdamWrites::kAll) != hardware::AdamWrites::kAll;
  };
  if (writes_a_part(group)) return is_link(other);
  if (writes_a_part(other)) return is_link(group);
  const auto exchanges = [](const Group& it) {
    const std::string name = name_of(it);
    return name == "rank_sum" || name == "peer_copy";
  };
  if (!exchanges(group) && !exchanges(other)) return true;
  return name_of(group) == "matmul" || name_of(other) == "matmul";
}

std::vector<double> seconds_beside(const Group& group,
                                   const std::vector<const Group*>& others,
                                   const Sampling& sampling) {
  std::vector<ContendingWork*> beside;
  for (std::size_t i = 1; i < group.size(); ++i) beside.push_back(group[i].get());
  for (const Group* other : others) {
    for (const auto& work : *other) beside.push_back(work.get());
  }
  return unit_seconds(*group.front(), beside, sampling);
}

hardware::Contention slowdown_of(const Group& group,
                                 const std::vector<const Group*>& others,
                                 double alone_s,
                                 int gpus,
                                 const Sampling& sampling) {
  std::vector<double> ratios = seconds_beside(group, others, sampling);
  for (double& ratio : ratios) ratio /= alone_s;
  std::vector<std::string> names;
  names.reserve(others.size());
  for (const Group* other : others) names.push_back(name_of(*other));
  const std::string beside = fmt::format("{}", fmt::join(names, "+"));
  const std::string method = fmt::format("{} beside {}, units of {:.1f} ms alone, wall clock{}",
                                         name_of(group),
                                         beside,
                                         alone_s * 1e3,
                                         gpus > 1 ? fmt::format(", on {} GPUs", gpus) : "");
  return {name_of(group), beside, gpus, summarise(ratios, method)};
}

void measure_among(const Groups& groups,
                   int gpus,
                   const Sampling& sampling,
                   std::vector<hardware::Contention>& found) {
  for (const Group& group : groups) {
    const double alone_s = quantile(seconds_beside(group, {}, sampling), 0.5);
    std::vector<const Group*> links, passes;
    for (const Group& other : groups) {
      if (&other == &group || !meet(group, other)) continue;
      found.push_back(slowdown_of(group, {&other}, alone_s, gpus, sampling));
      if (is_link(other)) links.push_back(&other);
      if (adam_pass(other)) passes.push_back(&other);
    }
    // A step copies both ways and updates, all at once.
    if (adam_pass(group) && links.size() > 1) {
      found.push_back(slowdown_of(group, links, alone_s, gpus, sampling));
    }
    if (!is_link(group)) continue;
    for (const Group* pass : passes) {
      std::vector<const Group*> both = links;
      both.push_back(pass);
      found.push_back(slowdown_of(group, both, alone_s, gpus, sampling));
    }
  }
}

const Registration kContention({
    "contention",
    "rate alone over rate beside another work, for every pair of works that share a link, memory "
    "or "
    "cores",
    "units of one work timed by the wall clock while a second thread keeps the other going; on the "
    "CPU device AdamW and a memory copy, each by half the threads",
    24.0,
    5.0,
    [](const Bench& bench) -> std::optional<std::string> {
      if (!bench.on_cuda() && bench.pool != nullptr && bench.pool->threads() < 2) {
        return "one thread does nothing beside itself";
      }
      return std::nullopt;
    },
    [](const Bench& bench, hardware::HardwareProfile& profile) {
      constexpr int kWarmUp = 1;
      const Sampling sampling =
          bench.by_effort(Sampling{kWarmUp, 7, 14, 0.3}, Sampling{kWarmUp, 4, 5, 0.05});
      std::vector<hardware::Contention> found;
      measure_among(
          bench.on_cuda() ? works_on_the_gpu(bench) : works_on_the_cpu(bench), 1, sampling, found);
      for (int gpus = 2; bench.on_cuda() && gpus <= bench.gpus; gpus *= 2) {
        measure_among(users_of_host_memory(bench, gpus), gpus, sampling, found);
      }
      profile.contention = std::move(found);
    },
});

}  // namespace
}  // namespace elixir::measure
