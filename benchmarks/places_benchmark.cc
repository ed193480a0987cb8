// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measures whether all of the host's memory is equally fast: several arenas, one after another in
// the order in which the system gives memory out, each read and written in place by all threads;
// then stripes of all of them at once. On virtual machines the difference is large
// (docs/measured/slowdowns.md).
//
// usage: places_benchmark [--size MIB] [--arenas N] [--rounds N] [--json]   by default 8 arenas of
// 1024 MiB, 5 rounds; figures are medians
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/host.h"
#include "benchmarks/median.h"
#include "benchmarks/rate_table.h"
#include "kernels/host_arena.h"
#include "kernels/thread_pool.h"

namespace elixir::benchmarks {
namespace {

constexpr std::size_t kMi = std::size_t{1} << 20;
constexpr std::size_t kStripeFloats = 2 * kMi / sizeof(float);  // a huge page

struct Options {
  long size_mib = 1024;
  long arenas = 8, rounds = 5;
  bool json = false;
};

/// Whole stripes, each of which lies in the next of the arenas.
struct Place {
  std::string name;
  std::vector<float*> arenas;
  std::size_t stripes = 0;
  std::vector<double> bytes_per_s = {};

  [[nodiscard]] float* stripe(std::size_t index) const {
    return arenas[index % arenas.size()] + index / arenas.size() * kStripeFloats;
  }
};

/// Reads and writes each stripe once.
double bytes_per_s(const Place& place, kernels::ThreadPool& pool) {
  const auto start = std::chrono::steady_clock::now();
  pool.parallel_for(place.stripes, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      float* const values = place.stripe(i);
      for (std::size_t k = 0; k < kStripeFloats; ++k) values[k] = values[k] * 0.5F + 1.0F;
    }
  });
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return 2.0 * static_cast<double>(place.stripes * kStripeFloats * sizeof(float)) / elapsed.count();
}

int benchmark(const Options& options) {
  const std::size_t free_bytes = free_memory_bytes();
  // Whole stripes.
  const std::size_t bytes = (static_cast<std::size_t>(options.size_mib) + 1) / 2 * 2 * kMi;
  if (bytes > free_bytes / 10 * 9 / static_cast<std::size_t>(options.arenas)) {
    fmt::print(stderr,
               "places_benchmark: {} arenas of {} MiB do not fit into the {} MiB that are free\n",
               options.arenas,
               options.size_mib,
               free_bytes / kMi);
    return 3;
  }
  kernels::ThreadPool pool(cpu_count());
  std::vector<kernels::HostArena> arenas;
  std::vector<Place> places;
  Place all{"all at once", {}, 0};
  const std::size_t stripes = bytes / sizeof(float) / kStripeFloats;
  for (long i = 0; i < options.arenas; ++i) {
    arenas.emplace_back(bytes, &pool);
    auto* const values = reinterpret_cast<float*>(arenas.back().data());
    places.push_back({fmt::format("arena {}", i), {values}, stripes});
    all.arenas.push_back(values);
  }
  all.stripes = stripes;  // of each arena a share
  places.push_back(std::move(all));
  for (long round = 0; round < options.rounds; ++round) {
    for (Place& place : places) place.bytes_per_s.push_back(bytes_per_s(place, pool));
  }
  std::vector<NamedRate> rates;
  rates.reserve(places.size());
  for (const Place& place : places) rates.push_back({place.name, median(place.bytes_per_s)});
  print_rates(rates,
              {{"size_bytes", bytes}, {"threads", pool.threads()}, {"rounds", options.rounds}},
              options.json);
  return 0;
}

}  // namespace
}  // namespace elixir::benchmarks

int main(int argc, char** argv) {
  elixir::benchmarks::Options options;
  return elixir::benchmarks::run({.name = "places_benchmark",
                                  .usage = "[--size MIB] [--arenas N] [--rounds N] [--json]",
                                  .numbers = {{"--size", &options.size_mib},
                                              {"--arenas", &options.arenas},
                                              {"--rounds", &options.rounds}},
                                  .json = &options.json},
                                 argc,
                                 argv,
                                 [&] { return elixir::benchmarks::benchmark(options); });
}
