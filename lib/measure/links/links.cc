// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Copies between host and device, and inside each. On a CPU-only machine the device is an arena of
// host memory. A copy is then a memory copy by all threads, as in the runtime.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "kernels/copy.h"
#include "measure/host/host_memory.h"
#include "measure/links/gpu_links.h"
#include "measure/machine/gpu_probe.h"
#include "measure/machine/machine.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

using hardware::Figure;
using hardware::HardwareProfile;
using hardware::LinkRate;

constexpr int kGroupCopies = 4;  // queued per GPU

std::size_t within_memory(const Bench& bench, std::int64_t bytes) {
  return static_cast<std::size_t>(
      std::min(bytes, std::max<std::int64_t>(1_MiB, bench.memory_bytes / 8)));
}

/// Inside host memory. No cache may hold both sides.
std::size_t host_copy_bytes(const Bench& bench) {
  const std::int64_t least = bench.by_effort<std::int64_t>(256_MiB, 64_MiB);
  return within_memory(bench, uncached_bytes(least, last_level_cache_bytes()));
}

/// Over a link. Its rate is far below a cache's.
std::size_t link_copy_bytes(const Bench& bench) {
  const std::int64_t least = bench.by_effort<std::int64_t>(256_MiB, 64_MiB);
  const std::int64_t most = bench.by_effort<std::int64_t>(1_GiB, 256_MiB);
  return within_memory(bench, std::clamp(4 * last_level_cache_bytes(), least, most));
}

std::vector<double> host_copy_seconds(const Bench& bench, std::size_t bytes) {
  const HostMemory from(bytes, *bench.pool, 0x5A), to(bytes, *bench.pool, 0);
  // Copying a page takes less time than reading the clock, so many copies are timed together.
  const int copies = bytes <= kLatencyBytes ? 1000 : 1;
  std::vector<double> seconds = sample(bench.sampling(), [&] {
    return seconds_of([&] {
             for (int i = 0; i < copies; ++i) {
               kernels::copy_cpu(to.data(), from.data(), bytes, *bench.pool);
             }
           }) /
           copies;
  });
  require(std::memcmp(to.data(), from.data(), bytes) == 0, "a copy arrived damaged");
  return seconds;
}

LinkRate cpu_link(const Bench& bench) {
  const std::size_t bytes = host_copy_bytes(bench);
  return {1,
          rate_figure(static_cast<double>(bytes),
                      host_copy_seconds(bench, bytes),
                      fmt::format("memory copy of {} by {}, wall clock",
                                  format_bytes(static_cast<std::int64_t>(bytes)),
                                  bench.threads_text())),
          time_figure(host_copy_seconds(bench, kLatencyBytes), "memory copy of 4 KiB, wall clock")};
}

LinkRate cuda_link(const Bench& bench, Direction direction, HostPages pages) {
  const std::size_t bytes = link_copy_bytes(bench);
  const std::string_view kind = name_of(pages);
  return {1,
          rate_figure(static_cast<double>(bytes),
                      gpu_copy_seconds(direction, pages, bytes, 4, bench.sampling()),
                      fmt::format("{} copies of {}, copy engine, events",
                                  kind,
                                  format_bytes(static_cast<std::int64_t>(bytes)))),
          time_figure(gpu_copy_seconds(direction, pages, kLatencyBytes, 1, bench.sampling()),
                      fmt::format("{} copy of 4 KiB, events", kind))};
}

/// Measures 2, 4, 8 … GPUs that transfer at once.
void add_groups(const Bench& bench, Traffic traffic, std::vector<LinkRate>& rates) {
  for (const int gpus : bench.gpus_at_once()) {
    const std::int64_t wanted = bench.by_effort<std::int64_t>(256_MiB, 64_MiB);
    const std::int64_t allowed = std::max<std::int64_t>(1_MiB, bench.memory_bytes / 8 / gpus);
    const auto bytes = static_cast<std::size_t>(std::min(wanted, allowed));
    const double moved =
        static_cast<double>(bytes) * kGroupCopies * gpus * (traffic == Traffic::kBoth ? 2.0 : 1.0);
    rates.push_back(
        {gpus,
         rate_figure(moved,
                     gpu_group_copy_seconds(traffic, gpus, bytes, kGroupCopies, bench.sampling()),
                     fmt::format("{} pinned copies of {} on each of {} GPUs, bytes of all from the "
                                 "common start to the last end",
                                 kGroupCopies,
                                 format_bytes(static_cast<std::int64_t>(bytes)),
                                 gpus)),
         time_figure(gpu_group_copy_seconds(traffic, gpus, kLatencyBytes, 1, bench.sampling()),
                     fmt::format("4 KiB on each of {} GPUs at once", gpus))});
  }
}

std::vector<LinkRate> one_way(const Bench& bench, Direction direction) {
  if (!bench.on_cuda()) return {cpu_link(bench)};
  std::vector<LinkRate> rates = {cuda_link(bench, direction, HostPages::kPinned)};
  const bool up = direction == Direction::kHostToDevice;
  add_groups(bench, up ? Traffic::kUp : Traffic::kDown, rates);
  return rates;
}

/// Bytes read plus bytes written per second.
Figure memory_copy_figure(const Bench& bench) {
  const std::size_t bytes = host_copy_bytes(bench);
  return rate_figure(2.0 * static_cast<double>(bytes),
                     host_copy_seconds(bench, bytes),
                     fmt::format("memory copy of {} by {}, read + written, wall clock",
                                 format_bytes(static_cast<std::int64_t>(bytes)),
                                 bench.threads_text()));
}

const Registration kHostToDevice({
    "host-to-device",
    "bytes per second from host memory to the device, and the time of a 4 KiB copy; by number of "
    "GPUs at once",
    "large copies from pinned memory by the copy engine; on the CPU device, memory copies by all "
    "threads",
    1.5,
    0.3,
    never,
    [](const Bench& bench, HardwareProfile& profile) {
      profile.links.host_to_device = one_way(bench, Direction::kHostToDevice);
    },
});

const Registration kDeviceToHost({
    "device-to-host",
    "bytes per second from the device to host memory, and the time of a 4 KiB copy; by number of "
    "GPUs at once",
    "large copies to pinned memory by the copy engine; on the CPU device, memory copies by all "
    "threads",
    1.5,
    0.3,
    never,
    [](const Bench& bench, HardwareProfile& profile) {
      profile.links.device_to_host = one_way(bench, Direction::kDeviceToHost);
    },
});

const Registration kBothAtOnce({
    "both-at-once",
    "bytes per second of both directions together, by number of GPUs at once",
    "one large copy each way on two streams; the sum of bytes over the time from the common start "
    "to the last end",
    1.5,
    0.3,
    [](const Bench& bench) -> std::optional<std::string> {
      if (bench.on_cuda()) return std::nullopt;
      return "on the CPU device copies run one after another";
    },
    [](const Bench& bench, HardwareProfile& profile) {
      const std::size_t bytes = link_copy_bytes(bench);
      profile.links.both_at_once = {
          {1,
           rate_figure(2.0 * static_cast<double>(bytes),
                       gpu_both_ways_seconds(bytes, bench.sampling()),
                       fmt::format("{} each way on two streams, common start to last end",
                                   format_bytes(static_cast<std::int64_t>(bytes)))),
           time_figure(gpu_both_ways_seconds(kLatencyBytes, bench.sampling()),
                       "4 KiB each way on two streams")}};
      add_groups(bench, Traffic::kBoth, profile.links.both_at_once);
    },
});

const Registration kPageable({
    "pageable-host-to-device",
    "bytes per second from ordinary, unpinned host memory to the device",
    "as host-to-device, from memory that the driver has to stage",
    1.5,
    0.3,
    unless_cuda,
    [](const Bench& bench, HardwareProfile& profile) {
      profile.links.pageable_host_to_device = {
          cuda_link(bench, Direction::kHostToDevice, HostPages::kPageable)};
    },
});

const Registration kDeviceCopy({
    "device-copy",
    "bytes read plus bytes written per second by a copy inside device memory",
    "large device-to-device copies; on the CPU device, memory copies by all threads",
    1.0,
    0.2,
    never,
    [](const Bench& bench, HardwareProfile& profile) {
      if (!bench.on_cuda()) {
        profile.device_copy_bytes_per_s = memory_copy_figure(bench);
        return;
      }
      const std::size_t bytes = bench.by_effort<std::size_t>(1_GiB, 256_MiB);
      profile.device_copy_bytes_per_s = rate_figure(
          2.0 * static_cast<double>(bytes),
          gpu_copy_seconds(
              Direction::kDeviceToDevice, HostPages::kPinned, bytes, 8, bench.sampling()),
          fmt::format("device-to-device copies of {}, read + written, events",
                      format_bytes(static_cast<std::int64_t>(bytes))));
    },
});

const Registration kHostCopy({
    "host-copy",
    "bytes read plus bytes written per second by a copy inside host memory",
    "a copy much larger than the last-level cache, by all threads",
    1.0,
    0.2,
    never,
    [](const Bench& bench, HardwareProfile& profile) {
      profile.host_copy_bytes_per_s = memory_copy_figure(bench);
    },
});

}  // namespace
}  // namespace elixir::measure
