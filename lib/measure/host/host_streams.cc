// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Bandwidth of host memory by kernel, number of threads and NUMA node.
#include <algorithm>
#include <cstring>
#include <functional>
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
  bool choose_stores;  ///< whether it comes with both kinds
};

/// The kind of stores that one pass is faster with here.
Stores faster_stores(const Pass& pass) {
  if (!pass.choose_stores) return Stores::kStreaming;  // where its kernel streams
  const auto seconds = [&](Stores stores) { return seconds_of([&] { pass.run(stores); }); };
  (void)seconds(Stores::kPlain);
  return seconds(Stores::kPlain) < seconds(Stores::kStreaming) ? Stores::kPlain
                                                               : Stores::kStreaming;
}

/// All kernels with the threads of `pool`, in one block of memory that those threads touched.
void measure_with(const Bench& bench,
                  kernels::ThreadPool& pool,
                  std::optional<int> node,
                  std::int64_t bytes,
                  std::vector<HostStream>& found) {
  const HostMemory memory(static_cast<std::size_t>(bytes), pool, 1);
  char* const base = memory.as<char>();
  const auto grains = [](std::size_t elements) { return elements / kStreamGrain * kStreamGrain; };
  const std::size_t copy_n = grains(memory.bytes() / 8), triad_n = grains(memory.bytes() / 12),
                    adam_n = grains(memory.bytes() / 16);
  const auto floats = [&](std::size_t part, std::size_t n) {
    return reinterpret_cast<float*>(base + part * n * sizeof(float));
  };
  // Three fp32 states, then gradient and parameter in bf16.
  const auto state = [&](std::size_t part) { return floats(part, adam_n); };
  char* const halves = base + 3 * adam_n * sizeof(float);
  const kernels::AdamArrays arrays = {state(0),
                                      state(1),
                                      state(2),
                                      halves,
                                      kernels::Element::kBFloat16,
                                      halves + adam_n * 2,
                                      kernels::Element::kBFloat16,
                                      adam_n};
  const std::vector<Pass> passes = {
      {"copy",
       8.0 * static_cast<double>(copy_n),
       [&](Stores stores) {
         stream_copy(floats(0, copy_n), floats(1, copy_n), copy_n, stores, pool);
       },
       true},
      {"triad",
       12.0 * static_cast<double>(triad_n),
       [&](Stores stores) {
         stream_triad(floats(0, triad_n),
                      floats(1, triad_n),
                      floats(2, triad_n),
                      3.0F,
                      triad_n,
                      stores,
                      pool);
       },
       true},
      {"adam",
       static_cast<double>(kernels::moved_bytes(arrays)) * static_cast<double>(adam_n),
       [&](Stores) { kernels::adam_streams_cpu(arrays, kernels::best_isa(), pool); },
       false},
  };
  Sampling sampling = bench.sampling();
  sampling.budget_s = bench.by_effort(0.3, 0.03);
  sampling.least = bench.by_effort(5, 3);
  sampling.warm_up = 1;
  const std::string where = node ? fmt::format(" of node {}", *node) : std::string();
  for (const Pass& pass : passes) {
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
    if (std::strcmp(pass.kernel, "copy") == 0) {
      require(std::memcmp(floats(0, copy_n), floats(1, copy_n), copy_n * sizeof(float)) == 0,
              "a copy arrived damaged");
    }
    if (std::strcmp(pass.kernel, "triad") == 0) {
      const auto value = [&](std::size_t part) { return floats(part, triad_n)[triad_n - 1]; };
      require(value(0) == value(1) + 3.0F * value(2), "a triad is wrong");
    }
    if (std::strcmp(pass.kernel, "adam") == 0) {
      require(std::memcmp(arrays.gradient, arrays.parameter, adam_n * 2) == 0,
              "the optimizer's streams arrived damaged");
    }
  }
}

const Registration kHostStreams({
    "host-streams",
    "bytes read plus bytes written per second by a copy, STREAM's triad and the memory streams of "
    "AdamW, by number of threads and NUMA node",
    "passes over one block far larger than the caches, first touched by the threads that use it; "
    "plain or streaming stores, whichever is faster",
    14.0,
    2.0,
    never,
    [](const Bench& bench, HardwareProfile& profile) {
      const std::int64_t least = bench.by_effort<std::int64_t>(512_MiB, 128_MiB);
      const std::int64_t most = bench.by_effort<std::int64_t>(1_GiB, 256_MiB);
      const std::int64_t wanted = std::clamp(4 * last_level_cache_bytes(), least, most);
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
