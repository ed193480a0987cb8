// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// How fast pinned host memory becomes ready.
#include <sys/mman.h>

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "measure/gpu_links.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

constexpr std::size_t kPageBytes = 4096;

/// Pages of the system's, huge where it gives them, that the pool's threads touch: what the plain
/// allocator does with one thread.
class TouchedArena {
 public:
  TouchedArena(std::size_t bytes, kernels::ThreadPool& pool)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (data_ == MAP_FAILED) {
      throw Error(
          ErrorCode::kOutOfMemory,
          fmt::format("the system has no {} left", format_bytes(static_cast<std::int64_t>(bytes))));
    }
    (void)madvise(data_, bytes, MADV_HUGEPAGE);  // a wish: without huge pages it is slower
    pool.parallel_for(bytes / kPageBytes, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t page = begin; page < end; ++page) {
        static_cast<volatile char*>(data_)[page * kPageBytes] = 1;
      }
    });
  }
  ~TouchedArena() { munmap(data_, bytes_); }
  TouchedArena(const TouchedArena&) = delete;
  TouchedArena& operator=(const TouchedArena&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

double arena_pinned_seconds(std::size_t bytes, kernels::ThreadPool& pool) {
  std::optional<TouchedArena> arena;
  const double touched = seconds_of([&] { arena.emplace(bytes, pool); });
  return touched + register_seconds(arena->data(), bytes);
}

const Registration kPinnedAllocation({
    "pinned-allocation",
    "bytes per second at which pinned host memory becomes ready, plain and as an arena",
    "plain: the runtime's allocator; arena: pages touched by all threads, then registered once",
    16.0,
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
