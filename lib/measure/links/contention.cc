// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measures how much works slow each other down when they run at once.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "measure/collectives/collectives.h"
#include "measure/links/contending_work.h"
#include "measure/machine/machine.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

using Works = std::vector<std::unique_ptr<ContendingWork>>;

// Of its arrays. All of them together are larger than any cache.
constexpr std::int64_t kAdamBytesPerParameter = 16;

std::size_t at_most_a_share(const Bench& bench, std::int64_t wanted) {
  return static_cast<std::size_t>(
      std::max<std::int64_t>(1_MiB, std::min(wanted, bench.memory_bytes / 16)));
}

std::size_t copied_bytes(const Bench& bench) {
  return at_most_a_share(bench, bench.by_effort<std::int64_t>(128_MiB, 64_MiB));
}

Works works_for(const Bench& bench) {
  Works works;
  const auto at_most = [&](std::int64_t wanted) { return at_most_a_share(bench, wanted); };
  const int threads = bench.pool->threads();
  const std::size_t parameters =
      at_most(std::max(bench.by_effort<std::int64_t>(2_GiB, 1_GiB), 8 * last_level_cache_bytes())) /
      kAdamBytesPerParameter;
  if (!bench.on_cuda()) {
    // The works share out the cores, so they contend only for memory.
    const int half = std::max(1, threads / 2);
    works.push_back(make_adam_cpu_work(parameters, half));
    works.push_back(make_host_copy_work(at_most(bench.by_effort<std::int64_t>(256_MiB, 128_MiB)),
                                        std::max(1, threads - half)));
    return works;
  }
  const std::size_t bytes = copied_bytes(bench);
  const std::size_t host_bytes = at_most(2 * last_level_cache_bytes());
  for (const auto direction :
       {hardware::Direction::kHostToDevice, hardware::Direction::kDeviceToHost}) {
    works.push_back(make_link_work(direction, bytes, host_bytes));
  }
  works.push_back(make_adam_cpu_work(parameters, threads));
  works.push_back(make_matmul_work(bench.by_effort(8192, 4096)));
  if (!collectives_unavailable(bench.gpus)) {
    works.push_back(
        make_collective_work(bench.gpus, bench.by_effort<std::size_t>(128_MiB, 32_MiB)));
  }
  return works;
}

hardware::Contention slowdown_of(ContendingWork& work,
                                 const std::vector<ContendingWork*>& others,
                                 double alone_s,
                                 const Sampling& sampling) {
  std::vector<double> ratios = unit_seconds(work, others, sampling);
  for (double& ratio : ratios) ratio /= alone_s;
  std::vector<std::string> names;
  names.reserve(others.size());
  for (const ContendingWork* other : others) names.push_back(other->name());
  const std::string beside = fmt::format("{}", fmt::join(names, "+"));
  return {work.name(),
          beside,
          summarise(ratios,
                    fmt::format("{} beside {}, units of {:.1f} ms alone, wall clock",
                                work.name(),
                                beside,
                                alone_s * 1e3))};
}

/// Whether a training step does this work on the host's memory.
bool uses_host_memory(const ContendingWork& work) {
  return work.name() == "host_to_device" || work.name() == "device_to_host" ||
         work.name() == "adam_cpu";
}

/// The others of those three works, in the order of `works`.
std::vector<ContendingWork*> other_users(const Works& works, const ContendingWork& work) {
  std::vector<ContendingWork*> others;
  for (const auto& other : works) {
    if (other.get() != &work && uses_host_memory(*other)) others.push_back(other.get());
  }
  return others;
}

const Registration kContention({
    "contention",
    "rate alone over rate beside another work, for every pair of works that share a link, memory "
    "or "
    "cores",
    "units of one work timed by the wall clock while a second thread keeps the other going; on the "
    "CPU device AdamW and a memory copy, each by half the threads",
    10.0,
    2.0,
    [](const Bench& bench) -> std::optional<std::string> {
      if (!bench.on_cuda() && bench.pool != nullptr && bench.pool->threads() < 2) {
        return "one thread does nothing beside itself";
      }
      return std::nullopt;
    },
    [](const Bench& bench, hardware::HardwareProfile& profile) {
      const Sampling sampling = bench.by_effort(Sampling{2, 7, 40, 0.3}, Sampling{1, 3, 10, 0.03});
      const Works works = works_for(bench);
      std::vector<hardware::Contention> found;
      for (const auto& work : works) {
        const double alone = quantile(unit_seconds(*work, {}, sampling), 0.5);
        for (const auto& other : works) {
          if (other != work) found.push_back(slowdown_of(*work, {other.get()}, alone, sampling));
        }
        // A step does all three at once.
        const std::vector<ContendingWork*> others = other_users(works, *work);
        if (uses_host_memory(*work) && others.size() > 1) {
          found.push_back(slowdown_of(*work, others, alone, sampling));
        }
      }
      profile.contention = std::move(found);
    },
});

}  // namespace
}  // namespace elixir::measure
