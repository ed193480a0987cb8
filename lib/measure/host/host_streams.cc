// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Bandwidth of host memory, by kernel, number of threads and NUMA node.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "kernels/adam.h"
#include "measure/host/host_memory.h"
#include "measure/host/streams.h"
#include "measure/machine/machine.h"
#include "measure/machine/topology.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

using hardware::HardwareProfile;
using hardware::HostStream;

constexpr std::int64_t kLeastBytes = 16_MiB;

/// Powers of two up to `most`, and `most`.
std::vector<int> thread_counts(int most) {
  std::vector<int> counts;
  for (int threads = 1; threads < most; threads *= 2) counts.push_back(threads);
  counts.push_back(most);
  return counts;
}

struct Pass {
  const char* kernel;
  double bytes;
  std::function<void(Stores)> run;
  std::function<void()> check;  ///< of what the passes have left in memory
  bool choose_stores;           ///< whether it has both kinds of stores
};

/// Arrays of fp32, one after the other.
struct Arrays {
  float* first;
  std::size_t n;

  float* operator[](std::size_t part) const { return first + part * n; }
};

/// As many elements, in whole grains, as fit where each takes `bytes_each` over all arrays.
Arrays cut(const HostMemory& memory, std::size_t bytes_each) {
  return {memory.as<float>(), memory.bytes() / bytes_each / kStreamGrain * kStreamGrain};
}

Pass copy_pass(const HostMemory& memory, kernels::ThreadPool& pool) {
  const Arrays a = cut(memory, 2 * sizeof(float));
  return {.kernel = "copy",
          .bytes = 8.0 * static_cast<double>(a.n),
          .run = [a, &pool](Stores stores) { stream_copy(a[0], a[1], a.n, stores, pool); },
          .check =
              [a] {
                require(std::memcmp(a[0], a[1], a.n * sizeof(float)) == 0,
                        "a copy arrived damaged");
              },
          .choose_stores = true};
}

Pass triad_pass(const HostMemory& memory, kernels::ThreadPool& pool) {
  const Arrays a = cut(memory, 3 * sizeof(float));
  return {
      .kernel = "triad",
      .bytes = 12.0 * static_cast<double>(a.n),
      .run = [a, &pool](Stores stores) { stream_triad(a[0], a[1], a[2], 3.0F, a.n, stores, pool); },
      .check =
          [a] {
            const auto last = [&](std::size_t part) { return a[part][a.n - 1]; };
            require(last(0) == last(1) + 3.0F * last(2), "a triad is wrong");
          },
      .choose_stores = true};
}

/// Three fp32 states, then gradient and parameter in bf16.
Pass adam_pass(const HostMemory& memory, kernels::ThreadPool& pool) {
  const Arrays a = cut(memory, 3 * sizeof(float) + 2 * sizeof(std::uint16_t));
  char* const halves = reinterpret_cast<char*>(a[3]);
  const kernels::AdamArrays arrays = {.master = a[0],
                                      .moment1 = a[1],
                                      .moment2 = a[2],
                                      .gradient = halves,
                                      .gradient_type = kernels::Element::kBFloat16,
                                      .parameter = halves + a.n * 2,
                                      .parameter_type = kernels::Element::kBFloat16,
                                      .n = a.n};
  return {.kernel = "adam",
          .bytes = static_cast<double>(kernels::moved_bytes(arrays)) * static_cast<double>(a.n),
          .run = [arrays,
                  &pool](Stores) { kernels::adam_streams_cpu(arrays, kernels::best_isa(), pool); },
          .check =
              [arrays] {
                require(std::memcmp(arrays.gradient, arrays.parameter, arrays.n * 2) == 0,
                        "the optimizer's streams arrived damaged");
              },
          .choose_stores = false};
}

/// The kind of stores with which one pass is faster here.
Stores faster_stores(const Pass& pass) {
  if (!pass.choose_stores) return Stores::kStreaming;  // its kernel uses streaming stores
  const auto seconds = [&](Stores stores) { return seconds_of([&] { pass.run(stores); }); };
  (void)seconds(Stores::kPlain);
  return seconds(Stores::kPlain) < seconds(Stores::kStreaming) ? Stores::kPlain
                                                               : Stores::kStreaming;
}

/// Measures all kernels with the threads of `pool`, in one block of memory that those threads
/// touched.
void measure_with(const Bench& bench,
                  kernels::ThreadPool& pool,
                  std::optional<int> node,
                  std::int64_t bytes,
                  std::vector<HostStream>& found) {
  const HostMemory memory(static_cast<std::size_t>(bytes), pool, 1);
  Sampling sampling = bench.sampling();
  sampling.budget_s = bench.by_effort(0.3, 0.03);
  sampling.least = bench.by_effort(5, 3);
  sampling.warm_up = 1;
  const std::string where = node ? fmt::format(" of node {}", *node) : std::string();
  for (const Pass& pass :
       {copy_pass(memory, pool), triad_pass(memory, pool), adam_pass(memory, pool)}) {
    const Stores stores = faster_stores(pass);
    found.push_back(
        {pass.kernel,
         pool.threads(),
         node,
         rate_figure(pass.bytes,
                     sample(sampling, [&] { return seconds_of([&] { pass.run(stores); }); }),
                     fmt::format("{} over {} by {} thread{}{}, {} stores, wall clock",
                                 pass.kernel,
                                 format_bytes(bytes),
                                 pool.threads(),
                                 pool.threads() == 1 ? "" : "s",
                                 where,
                                 stores == Stores::kPlain ? "plain" : "streaming"))});
    pass.check();
  }
}

const Registration kHostStreams({
    "host-streams",
    "bytes read plus bytes written per second by a copy, STREAM's triad and the memory streams of "
    "AdamW, by number of threads and NUMA node",
    "passes over one block far larger than the caches, first touched by the threads that use it; "
    "plain or streaming stores, whichever is faster",
    9.5,
    2.0,
    never,
    [](const Bench& bench, HardwareProfile& profile) {
      const std::int64_t least = bench.by_effort<std::int64_t>(512_MiB, 128_MiB);
      const std::int64_t wanted =
          uncached_bytes(least, last_level_cache_bytes()) / kLeastBytes * kLeastBytes;
      const std::int64_t bytes = std::max(
          kLeastBytes, std::min(wanted, bench.memory_bytes / 4) / kLeastBytes * kLeastBytes);
      if (bytes < wanted) {
        profile.noticed["host-streams"] = fmt::format(
            "too little memory: passes over {} not {}", format_bytes(bytes), format_bytes(wanted));
      }
      std::vector<HostStream> found;
      for (const int threads : thread_counts(bench.pool->threads())) {
        kernels::ThreadPool pool(threads);
        measure_with(bench, pool, std::nullopt, bytes, found);
      }
      const hardware::Topology topology = read_topology();
      if (topology.numa_nodes.size() > 1) {
        for (const hardware::NumaNode& node : topology.numa_nodes) {
          const NodeScope here(node.node);
          if (!here.active()) continue;
          kernels::ThreadPool pool(std::clamp(node.logical_cpus, 1, bench.pool->threads()));
          measure_with(bench, pool, node.node, bytes, found);
        }
      }
      profile.host_streams = std::move(found);
    },
});

}  // namespace
}  // namespace elixir::measure
