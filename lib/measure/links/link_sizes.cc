// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Time of one copy by its size, and the line latency + bytes / rate through it.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "hardware/line_fit.h"
#include "kernels/copy.h"
#include "measure/host/host_memory.h"
#include "measure/links/gpu_links.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

using hardware::HardwareProfile;
using hardware::LinkCurve;

constexpr std::int64_t kSmallest = 4_KiB, kFactor = 4;
/// On the CPU, smaller copies are timed many at once, because reading the clock takes as long.
constexpr std::int64_t kLeastTimedAlone = 1_MiB;

std::vector<std::int64_t> sizes_up_to(std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = kSmallest; bytes <= most; bytes *= kFactor) sizes.push_back(bytes);
  return sizes;
}

LinkCurve curve_of(Direction direction,
                   HostPages pages,
                   const std::vector<std::int64_t>& sizes,
                   const std::vector<std::vector<double>>& seconds,
                   const std::string& how) {
  LinkCurve curve;
  curve.direction = direction;
  curve.pages = pages;
  std::vector<hardware::TimedBytes> points;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    curve.points.push_back(
        {sizes[i],
         time_figure(
             seconds[i],
             fmt::format("{}{} copy of {}, {}",
                         pages == HostPages::kNone ? "" : fmt::format("{} ", name_of(pages)),
                         name_of(direction),
                         format_bytes(sizes[i]),
                         how))});
    points.push_back({static_cast<double>(sizes[i]), quantile(seconds[i], 0.5)});
  }
  if (const auto line = hardware::fit_line_that_holds(points)) {
    curve.line =
        hardware::LinkLine{line->latency_s * 1e9, line->bytes_per_s, line->worst_relative_error};
  }
  return curve;
}

/// The CPU device: memory copies by all threads, equal in both directions.
std::vector<LinkCurve> cpu_curves(const Bench& bench, const Sampling& sampling) {
  const std::int64_t allowed = std::max<std::int64_t>(64_KiB, bench.memory_bytes / 8);
  const std::vector<std::int64_t> sizes =
      sizes_up_to(std::min(bench.by_effort<std::int64_t>(256_MiB, 16_MiB), allowed));
  const auto most = static_cast<std::size_t>(sizes.back());
  const HostMemory from(most, *bench.pool, 0x5A), to(most, *bench.pool, 0);
  std::vector<std::vector<double>> seconds;
  for (const std::int64_t bytes : sizes) {
    const int copies = static_cast<int>(std::clamp<std::int64_t>(kLeastTimedAlone / bytes, 1, 256));
    seconds.push_back(sample(sampling, [&] {
      return seconds_of([&] {
               for (int i = 0; i < copies; ++i) {
                 kernels::copy_cpu(
                     to.data(), from.data(), static_cast<std::size_t>(bytes), *bench.pool);
               }
             }) /
             copies;
    }));
  }
  const std::string how = "by " + bench.threads_text() + ", wall clock";
  return {curve_of(Direction::kHostToDevice, HostPages::kPageable, sizes, seconds, how)};
}

const Registration kLinkSizes({
    "link-sizes",
    "nanoseconds of one copy of 4 KiB to 1 GiB, and the line latency + bytes / rate through them",
    "each direction, pinned and pageable, and inside the device; the line has the least squared "
    "relative error; on the CPU device memory copies",
    7.0,
    2.2,
    never,
    [](const Bench& bench, HardwareProfile& profile) {
      const Sampling sampling = bench.by_effort(Sampling{2, 7, 30, 0.06}, Sampling{1, 3, 10, 0.01});
      if (!bench.on_cuda()) {
        profile.links.curves = cpu_curves(bench, sampling);
        return;
      }
      struct Route {
        Direction direction;
        HostPages pages;
      };
      const std::vector<Route> routes = {{Direction::kHostToDevice, HostPages::kPinned},
                                         {Direction::kDeviceToHost, HostPages::kPinned},
                                         {Direction::kHostToDevice, HostPages::kPageable},
                                         {Direction::kDeviceToHost, HostPages::kPageable},
                                         {Direction::kDeviceToDevice, HostPages::kNone}};
      const std::vector<std::int64_t> sizes =
          sizes_up_to(std::min({bench.by_effort<std::int64_t>(1_GiB, 64_MiB),
                                bench.memory_bytes / 8,
                                profile.gpus.at(0).memory_bytes / 8}));
      std::vector<LinkCurve> curves;
      curves.reserve(routes.size());
      for (const Route& route : routes) {
        curves.push_back(
            curve_of(route.direction,
                     route.pages,
                     sizes,
                     gpu_copy_seconds_by_size(route.direction, route.pages, sizes, sampling),
                     "events"));
      }
      profile.links.curves = std::move(curves);
    },
});

}  // namespace
}  // namespace elixir::measure
