// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measures how much works slow each other down when they run at once.
#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "measure/collectives/collectives.h"
#include "measure/links/contending_work.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

using Works = std::vector<std::unique_ptr<ContendingWork>>;

constexpr std::int64_t kAdamBytesPerParameter = 16;  // of its arrays

Works works_for(const Bench& bench) {
  Works works;
  const std::int64_t share = bench.memory_bytes / 16;
  const auto at_most = [&](std::int64_t wanted) {
    return static_cast<std::size_t>(std::max<std::int64_t>(1_MiB, std::min(wanted, share)));
  };
  const int threads = bench.pool->threads();
  const std::size_t parameters =
      at_most(bench.by_effort<std::int64_t>(1_GiB, 256_MiB)) / kAdamBytesPerParameter;
  if (!bench.on_cuda()) {
    // The works share out the cores, so they contend only for memory.
    const int half = std::max(1, threads / 2);
    works.push_back(make_adam_cpu_work(parameters, half));
    works.push_back(make_host_copy_work(at_most(bench.by_effort<std::int64_t>(256_MiB, 128_MiB)),
                                        std::max(1, threads - half)));
    return works;
  }
  const std::size_t bytes = at_most(bench.by_effort<std::int64_t>(128_MiB, 64_MiB));
  works.push_back(make_link_work(hardware::Direction::kHostToDevice, bytes));
  works.push_back(make_link_work(hardware::Direction::kDeviceToHost, bytes));
  works.push_back(make_adam_cpu_work(parameters, threads));
  works.push_back(make_matmul_work(bench.by_effort(8192, 4096)));
  if (!collectives_unavailable(bench.gpus)) {
    works.push_back(
        make_collective_work(bench.gpus, bench.by_effort<std::size_t>(128_MiB, 32_MiB)));
  }
  return works;
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
        const double alone = quantile(unit_seconds(*work, nullptr, sampling), 0.5);
        for (const auto& other : works) {
          if (other == work) continue;
          std::vector<double> ratios = unit_seconds(*work, other.get(), sampling);
          for (double& ratio : ratios) ratio /= alone;
          found.push_back(
              {work->name(),
               other->name(),
               summarise(ratios,
                         fmt::format("{} beside {}, units of {:.1f} ms alone, wall clock",
                                     work->name(),
                                     other->name(),
                                     alone * 1e3))});
        }
      }
      profile.contention = std::move(found);
    },
});

}  // namespace
}  // namespace elixir::measure
