// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measures whether AdamW on the cores is as fast over some chunks as over all of a large arena:
// eight chunks, spread over the arena or next to each other, again and again; and as many as fill
// it. Both in the sizes of small and of large chunks. Rounds alternate. On virtual machines the
// difference is large (docs/measured/slowdowns.md).
//
// usage: adam_places_benchmark [--size GIB] [--milliseconds N] [--rounds N] [--json]   by default 8
// GiB, 400 ms for each of 5 rounds; figures are medians
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/host.h"
#include "benchmarks/median.h"
#include "benchmarks/rate_table.h"
#include "kernels/adam.h"
#include "kernels/cpu_affinity.h"
#include "kernels/host_arena.h"
#include "kernels/isa.h"
#include "kernels/thread_pool.h"

namespace elixir::benchmarks {
namespace {

constexpr std::size_t kMi = std::size_t{1} << 20, kGi = std::size_t{1} << 30;
// A bf16 parameter split with its master, a bf16 gradient and fp32 moments.
constexpr std::size_t kBytesPerParameter = 14, kMovedPerParameter = 26;
constexpr std::size_t kSome = 8;

struct Options {
  long size_gib = 8, milliseconds = 400, rounds = 5;
  bool json = false;
};

kernels::AdamArrays chunk_at(char* memory, std::size_t parameters) {
  kernels::AdamArrays chunk{};
  chunk.n = parameters;
  chunk.gradient_type = chunk.parameter_type = kernels::Element::kBFloat16;
  chunk.moment_type = kernels::Element::kFloat32;
  chunk.moment1 = memory;
  chunk.moment2 = memory + 4 * parameters;
  chunk.gradient = memory + 8 * parameters;
  chunk.parameter = memory + 10 * parameters;
  chunk.lower = reinterpret_cast<std::int16_t*>(memory + 12 * parameters);
  return chunk;
}

/// AdamW passes over these chunks in turn.
class Chunks {
 public:
  Chunks(std::string name, char* first, std::size_t count, std::size_t distance, std::size_t n)
      : name_(std::move(name)) {
    for (std::size_t i = 0; i < count; ++i) chunks_.push_back(chunk_at(first + i * distance, n));
  }

  /// For about so long, with some chunks always under way.
  void measure(double seconds, kernels::ThreadPool& pool) {
    const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, 1, 1, 1.0F);
    using Clock = std::chrono::steady_clock;
    std::array<std::uint64_t, kSome> under_way{};
    std::size_t begun = 0, ended = 0;
    Clock::time_point first_end, last_end = Clock::now();
    const auto until = last_end + std::chrono::duration<double>(seconds);
    while (last_end < until || ended < kSome) {
      std::uint64_t& job = under_way.at(begun % kSome);
      if (begun >= kSome) {
        pool.wait_for(job);
        last_end = Clock::now();
        if (ended++ == 0) first_end = last_end;
      }
      job = kernels::begin_adam_cpu(
          chunks_[next_++ % chunks_.size()], scalars, kernels::best_isa(), pool);
      ++begun;
    }
    pool.wait_idle();
    const std::chrono::duration<double> elapsed = last_end - first_end;
    bytes_per_s_.push_back(
        static_cast<double>((ended - 1) * chunks_.front().n * kMovedPerParameter) /
        elapsed.count());
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] double bytes_per_s() const { return median(bytes_per_s_); }

 private:
  std::string name_;
  std::vector<kernels::AdamArrays> chunks_;
  std::size_t next_ = 0;
  std::vector<double> bytes_per_s_;  // by round
};

int benchmark(const Options& options) {
  const std::size_t free_bytes = free_memory_bytes();
  const std::size_t bytes = static_cast<std::size_t>(options.size_gib) * kGi;
  if (bytes > free_bytes / 10 * 9) {
    fmt::print(stderr,
               "adam_places_benchmark: {} GiB do not fit into the {} GiB that are free\n",
               options.size_gib,
               free_bytes / kGi);
    return 3;
  }
  const int cpus = cpu_count();
  kernels::ThreadPool all(cpus);
  const kernels::HostArena arena(bytes, &all);
  const kernels::CpuRange own = kernels::adam_cpus({0, cpus});
  kernels::ThreadPool pool(
      own.count, kernels::Binding::kOneCpuEach, own.first, kernels::Caller::kGivesJobs);
  std::vector<Chunks> cases;
  for (const std::size_t wanted : {16 * kMi, 64 * kMi}) {
    // Eight fill at most half of the arena; whole blocks of AdamW.
    const std::size_t n = std::min(wanted, bytes / 2 / kSome / kBytesPerParameter / kMi * kMi);
    const std::size_t chunk = n * kBytesPerParameter;
    const std::string size = fmt::format("{} Mi parameters", n / kMi);
    cases.emplace_back(size + ", 8 spread", arena.data(), kSome, bytes / kSome, n);
    cases.emplace_back(size + ", 8 in a row", arena.data(), kSome, chunk, n);
    cases.emplace_back(size + ", all", arena.data(), bytes / chunk, chunk, n);
  }
  for (long round = 0; round < options.rounds; ++round) {
    for (Chunks& chunks : cases) {
      chunks.measure(static_cast<double>(options.milliseconds) * 1e-3, pool);
    }
  }
  std::vector<NamedRate> rates;
  rates.reserve(cases.size());
  for (const Chunks& chunks : cases) rates.push_back({chunks.name(), chunks.bytes_per_s()});
  print_rates(rates,
              {{"size_bytes", bytes}, {"threads", pool.threads()}, {"rounds", options.rounds}},
              options.json);
  return 0;
}

}  // namespace
}  // namespace elixir::benchmarks

int main(int argc, char** argv) {
  elixir::benchmarks::Options options;
  return elixir::benchmarks::run({.name = "adam_places_benchmark",
                                  .usage = "[--size GIB] [--milliseconds N] [--rounds N] [--json]",
                                  .numbers = {{"--size", &options.size_gib},
                                              {"--milliseconds", &options.milliseconds},
                                              {"--rounds", &options.rounds}},
                                  .json = &options.json},
                                 argc,
                                 argv,
                                 [&] { return elixir::benchmarks::benchmark(options); });
}
