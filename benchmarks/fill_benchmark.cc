// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measures how fast weights are drawn: elements per second by distribution, stored type and number
// of threads, into existing memory. Figures are medians of the rounds.
//
// usage: fill_benchmark [--elements MILLIONS] [--threads N] [--rounds N] --elements: 256 by
// default; --threads: up to all CPUs this process may use, in doublings
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/host.h"
#include "benchmarks/median.h"
#include "kernels/host_arena.h"
#include "kernels/random.h"
#include "kernels/thread_pool.h"

namespace elixir::benchmarks {
namespace {

using kernels::Distribution;
using kernels::Element;

struct Case {
  const char* name;
  Distribution what;
};
const Case kCases[] = {
    {"constant", {.kind = Distribution::Kind::kConstant, .first = 1}},
    {"uniform", {.kind = Distribution::Kind::kUniform, .first = -1, .second = 1}},
    {"normal", {.kind = Distribution::Kind::kNormal, .first = 0, .second = 0.02}},
    {"truncated normal",
     {.kind = Distribution::Kind::kTruncatedNormal,
      .first = 0,
      .second = 0.02,
      .low = -0.04,
      .high = 0.04}}};

double median_seconds(int rounds, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return median(seconds);
}

int benchmark(std::size_t elements, int most_threads, int rounds) {
  kernels::ThreadPool touching(most_threads);
  kernels::HostArena arena(elements * sizeof(float), &touching);
  fmt::print("{} elements, instruction set {}, medians of {} rounds\n\n{:<18}{:<6}{:>8}{:>16}\n",
             elements,
             kernels::name_of(kernels::best_isa()),
             rounds,
             "distribution",
             "type",
             "threads",
             "M elements/s");
  std::vector<int> counts;
  for (int threads = 1; threads < most_threads; threads *= 2) counts.push_back(threads);
  counts.push_back(most_threads);
  for (const Case& each : kCases) {
    for (const Element type : {Element::kBFloat16, Element::kFloat32}) {
      for (const int threads : counts) {
        kernels::ThreadPool pool(threads);
        const double seconds = median_seconds(rounds, [&] {
          kernels::fill_random_cpu(
              arena.data(), type, elements, each.what, 1, kernels::best_isa(), pool);
        });
        fmt::print("{:<18}{:<6}{:>8}{:>16.0f}\n",
                   each.name,
                   type == Element::kFloat32 ? "fp32" : "bf16",
                   threads,
                   static_cast<double>(elements) / seconds / 1e6);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace elixir::benchmarks

int main(int argc, char** argv) {
  long millions = 256, rounds = 3;
  long threads = elixir::benchmarks::cpu_count();
  return elixir::benchmarks::run(
      {.name = "fill_benchmark",
       .usage = "[--elements MILLIONS] [--threads N] [--rounds N]",
       .numbers = {{"--elements", &millions}, {"--threads", &threads}, {"--rounds", &rounds}}},
      argc,
      argv,
      [&] {
        return elixir::benchmarks::benchmark(static_cast<std::size_t>(millions) * 1'000'000,
                                             static_cast<int>(threads),
                                             static_cast<int>(rounds));
      });
}
