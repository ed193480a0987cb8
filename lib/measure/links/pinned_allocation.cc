// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// How fast pinned host memory becomes ready.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "measure/links/gpu_links.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

const Registration kPinnedAllocation({
    "pinned-allocation",
    "bytes per second at which pinned host memory becomes ready, plain and as an arena",
    "plain: cudaHostAlloc; arena: the trainer's, pages touched by all threads, then registered "
    "once",
    9.0,
    1.5,
    unless_cuda,
    [](const Bench& bench, hardware::HardwareProfile& profile) {
      const std::int64_t wanted = bench.by_effort<std::int64_t>(4_GiB, 256_MiB);
      const std::int64_t allowed =
          std::max<std::int64_t>(64_MiB, bench.memory_bytes / 8 / 1_MiB * 1_MiB);
      const auto bytes = static_cast<std::size_t>(std::min(wanted, allowed));
      const std::string size = format_bytes(static_cast<std::int64_t>(bytes));
      if (allowed < wanted) {
        profile.noticed["pinned-allocation"] =
            fmt::format("too little memory: {}, not {}", size, format_bytes(wanted));
      }
      const Sampling sampling{bench.by_effort(1, 0), 3, 5, bench.by_effort(3.0, 0.3)};
      profile.links.pinned_allocation = hardware::PinnedAllocation{
          static_cast<std::int64_t>(bytes),
          rate_figure(static_cast<double>(bytes),
                      sample(sampling, [&] { return plain_pinned_seconds(bytes); }),
                      fmt::format("cudaHostAlloc of {}, wall clock", size)),
          rate_figure(
              static_cast<double>(bytes),
              sample(sampling, [&] { return arena_pinned_seconds(bytes, *bench.pool); }),
              fmt::format(
                  "{} mapped, touched by {}, registered, wall clock", size, bench.threads_text()))};
    },
});

}  // namespace
}  // namespace elixir::measure
