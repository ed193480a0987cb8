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
#include "measure/links/works_at_once.h"
#include "measure/machine/machine.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

/// One work, on each GPU that does it at once.
using Group = std::vector<std::unique_ptr<ContendingWork>>;
using Groups = std::vector<Group>;

// As many as a large chunk has.
constexpr std::size_t kSummedElements = 64_MiB;

/// A share of the spread memory: one for each direction of each GPU's copies, one for AdamW, and
/// one stays free.
std::size_t share_bytes(const Bench& bench) {
  return bench.spread->bytes() / (2 * static_cast<std::size_t>(bench.gpus) + 2);
}

std::size_t at_most_a_share(const Bench& bench, std::int64_t wanted) {
  return std::min(static_cast<std::size_t>(wanted), share_bytes(bench));
}

std::size_t copied_bytes(const Bench& bench) {
  const std::int64_t wanted = bench.by_effort<std::int64_t>(128_MiB, 64_MiB);
  constexpr auto kStripes = static_cast<std::int64_t>(SpreadMemory::kStripes);
  return at_most_a_share(bench, wanted * kStripes) / SpreadMemory::kStripes;
}

/// Copies over 0.5 GiB for each GPU seemed to take next to nothing from AdamW, and together with it
/// moved more than memory can: a training's go over tens of GiB.
std::size_t places_in_stripe(const Bench& bench) {
  constexpr std::size_t kWanted = 8;
  const std::size_t stripe_bytes = copied_bytes(bench) * SpreadMemory::kStripes;
  const std::size_t room =
      at_most_a_share(bench, static_cast<std::int64_t>(kWanted * stripe_bytes)) / stripe_bytes;
  return std::max<std::size_t>(room, 1);
}

/// So many that caches do not help: eight times the last one.
std::size_t uncached_adam_parameters(const Bench& bench) {
  const std::int64_t bytes =
      std::max(bench.by_effort<std::int64_t>(2_GiB, 1_GiB), 8 * last_level_cache_bytes());
  return at_most_a_share(bench, bytes) / AdamChunks::kBytesPerParameter;
}

/// As many as without copies, as far as these leave room, and a share that stays free.
std::size_t adam_parameters_beside_copies(const Bench& bench) {
  const std::size_t copies_bytes = 2 * static_cast<std::size_t>(bench.gpus) * copied_bytes(bench) *
                                   SpreadMemory::kStripes * places_in_stripe(bench);
  return std::min(
      static_cast<std::size_t>(adam_parameters(bench, DeviceKind::kCpu, bench.memory_bytes)),
      (bench.spread->bytes() - copies_bytes - share_bytes(bench)) / AdamChunks::kBytesPerParameter);
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
      copies.push_back(make_link_work(
          direction, copied_bytes(bench), places_in_stripe(bench), *bench.spread, gpu));
    }
    groups.push_back(std::move(copies));
  }
  for (auto& pass : make_adam_cpu_works(
           adam_parameters_beside_copies(bench), *bench.spread, rank_pools(bench, gpus))) {
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
  auto adam = make_adam_cpu_works(uncached_adam_parameters(bench), *bench.spread, std::move(pools));
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

/// Whether a training step does both at once. What ranks exchange shares a GPU with products. The
/// cores do one pass of AdamW at a time, and passes that write a part differ in how they treat
/// copies.
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

/// Seconds of a unit, by group and window, while all of them run: the mean over a group's GPUs.
std::vector<std::vector<double>> seconds_at_once(const std::vector<const Group*>& groups,
                                                 const Windows& windows) {
  std::vector<ContendingWork*> works;
  for (const Group* group : groups) {
    for (const auto& work : *group) works.push_back(work.get());
  }
  const std::vector<std::vector<double>> by_work = unit_seconds(works, windows);
  std::vector<std::vector<double>> by_group;
  auto work = by_work.begin();
  for (const Group* group : groups) {
    std::vector<double> mean(static_cast<std::size_t>(windows.count));
    for (std::size_t i = 0; i < group->size(); ++i, ++work) {
      for (std::size_t w = 0; w < mean.size(); ++w) {
        mean[w] += (*work)[w] / static_cast<double>(group->size());
      }
    }
    by_group.push_back(std::move(mean));
  }
  return by_group;
}

/// Groups of works by how they share a machine with so many GPUs at work.
class Together {
 public:
  Together(const Groups& groups, int gpus, const Windows& windows)
      : groups_(groups), gpus_(gpus), windows_(windows), alone_s_(groups.size()) {}

  /// Comes before what the group loses.
  void measure_alone(std::size_t i) {
    alone_s_[i] = quantile(seconds_at_once({&groups_[i]}, windows_).front(), 0.5);
  }

  /// What each of these groups loses while the others run, too.
  void measure(const std::vector<std::size_t>& which, std::vector<hardware::Contention>& found) {
    std::vector<const Group*> groups;
    groups.reserve(which.size());
    for (const std::size_t i : which) groups.push_back(&groups_[i]);
    std::vector<std::vector<double>> seconds = seconds_at_once(groups, windows_);
    for (std::size_t k = 0; k < which.size(); ++k) {
      const double alone_s = alone_s_[which[k]];
      for (double& value : seconds[k]) value /= alone_s;
      std::vector<std::string> others;
      for (const Group* other : groups) {
        if (other != groups[k]) others.push_back(name_of(*other));
      }
      const std::string name = name_of(*groups[k]);
      const std::string beside = fmt::format("{}", fmt::join(others, "+"));
      const std::string method = fmt::format("{} beside {}, units of {:.1f} ms alone, wall clock{}",
                                             name,
                                             beside,
                                             alone_s * 1e3,
                                             gpus_ > 1 ? fmt::format(", on {} GPUs", gpus_) : "");
      found.push_back({name, beside, gpus_, summarise(seconds[k], method)});
    }
  }

 private:
  const Groups& groups_;
  int gpus_;
  Windows windows_;
  std::vector<double> alone_s_;  // by group: a unit
};

void measure_among(const Groups& groups,
                   int gpus,
                   const Windows& windows,
                   std::vector<hardware::Contention>& found) {
  Together together(groups, gpus, windows);
  std::vector<std::size_t> links;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (is_link(groups[i])) links.push_back(i);
    together.measure_alone(i);
    for (std::size_t j = 0; j < i; ++j) {
      if (!meet(groups[i], groups[j])) continue;
      // What a virtual machine's memory gives changes within seconds: AdamW seemed faster beside
      // products than alone.
      if (adam_pass(groups[j])) together.measure_alone(j);
      together.measure({j, i}, found);
    }
    // A step copies both ways and updates, all at once.
    if (adam_pass(groups[i]) && links.size() == 2) {
      together.measure({links[0], links[1], i}, found);
    }
  }
}

const Registration kContention({
    "contention",
    "rate alone over rate beside another work, for every pair of works that share a link, memory "
    "or cores",
    "units of all works timed by the wall clock while each runs on a thread of its own; on the CPU "
    "device AdamW and a memory copy, each by half the threads",
    56.0,
    5.5,
    [](const Bench& bench) -> std::optional<std::string> {
      if (!bench.on_cuda() && bench.pool != nullptr && bench.pool->threads() < 2) {
        return "one thread does nothing beside itself";
      }
      return std::nullopt;
    },
    [](const Bench& bench, hardware::HardwareProfile& profile) {
      const Windows windows = bench.by_effort(Windows{7, 0.3}, Windows{3, 0.1});
      std::vector<hardware::Contention> found;
      measure_among(
          bench.on_cuda() ? works_on_the_gpu(bench) : works_on_the_cpu(bench), 1, windows, found);
      for (const int gpus : bench.gpus_at_once()) {
        measure_among(users_of_host_memory(bench, gpus), gpus, windows, found);
      }
      profile.contention = std::move(found);
    },
});

}  // namespace
}  // namespace elixir::measure
