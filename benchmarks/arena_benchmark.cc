// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measures how soon host memory is ready for chunks: an arena that N threads populate, and one that
// one thread populates, both locked for the GPU if there is one, compared with cudaHostAlloc of the
// same size. Rounds alternate; figures are medians. Without a GPU, nothing is locked and there is
// no cudaHostAlloc, and the output says so.
//
// usage: arena_benchmark [--size MIB] [--threads N] [--rounds N] [--json] --size: 16384 by default;
// less where memory is short, with a note
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/host.h"
#include "benchmarks/median.h"
#include "kernels/host_arena.h"

#ifdef ELIXIR_HAVE_CUDA
#include <cuda_runtime_api.h>

#include "kernels/cuda_kernels.h"
#endif

namespace elixir::benchmarks {
namespace {

constexpr std::size_t kMi = std::size_t{1} << 20;
constexpr std::size_t kPageBytes = 4096;

struct Options {
  long size_mib = 16384;
  long threads = 0, rounds = 3;
  bool json = false;
};

/// CUDA's lock, or none without a GPU.
const kernels::PageLock* page_lock(std::string& reason) {
#ifdef ELIXIR_HAVE_CUDA
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) {
    static_cast<void>(cudaFree(nullptr));  // creates the context, which must not be timed
    return &kernels::cuda_page_lock();
  }
  reason = status == cudaSuccess ? "no GPU here" : cudaGetErrorString(status);
#else
  reason = "this build has no CUDA";
#endif
  return nullptr;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Memory that is not zero, or cannot be written, would make the result meaningless.
void check(char* memory, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kPageBytes) {
    if (memory[at] != 0) throw std::runtime_error("the arena is not zeroed");
    memory[at] = 1;
  }
}

double arena_s(std::size_t bytes, kernels::ThreadPool& pool, const kernels::PageLock* lock) {
  std::optional<kernels::HostArena> arena;
  const double ready_s = seconds_of([&] { arena.emplace(bytes, &pool, lock); });
  if (lock != nullptr && !arena->locked()) throw std::runtime_error(arena->warning());
  check(arena->data(), bytes);
  return ready_s;
}

#ifdef ELIXIR_HAVE_CUDA
double cuda_host_alloc_s(std::size_t bytes) {
  void* memory = nullptr;
  cudaError_t status = cudaSuccess;
  const double ready_s = seconds_of(
      [&] { status = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped); });
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
  static_cast<void>(cudaFreeHost(memory));
  return ready_s;
}
#endif

struct Row {
  std::string name;
  std::function<double()> ready_s;
  std::vector<double> seconds;
  [[nodiscard]] double median_s() const { return median(seconds); }
};

int benchmark(const Options& options) {
  const std::size_t most_mib = free_memory_bytes() / 4 * 3 / kMi;
  const std::size_t size_mib =
      std::max<std::size_t>(1, std::min(static_cast<std::size_t>(options.size_mib), most_mib));
  if (size_mib < static_cast<std::size_t>(options.size_mib)) {
    fmt::print(stderr,
               "arena_benchmark: memory is short, {} MiB instead of {}\n",
               size_mib,
               options.size_mib);
  }
  const std::size_t bytes = size_mib * kMi;
  const int cpus = cpu_count();
  kernels::ThreadPool pool(options.threads == 0 ? cpus : static_cast<int>(options.threads)),
      alone(1);
  std::string reason;
  const kernels::PageLock* lock = page_lock(reason);
  if (lock == nullptr) {
    fmt::print(stderr, "arena_benchmark: nothing is locked, because {}\n", reason);
  }
  std::vector<Row> rows;
  rows.push_back({fmt::format("arena, {} threads", pool.threads()),
                  [&] { return arena_s(bytes, pool, lock); },
                  {}});
  rows.push_back({"arena, 1 thread", [&] { return arena_s(bytes, alone, lock); }, {}});
#ifdef ELIXIR_HAVE_CUDA
  if (lock != nullptr) {
    rows.push_back({"cudaHostAlloc", [&] { return cuda_host_alloc_s(bytes); }, {}});
  }
#endif
  for (long round = 0; round < options.rounds; ++round) {
    for (Row& row : rows) row.seconds.push_back(row.ready_s());
  }
  nlohmann::json report = {{"size_bytes", bytes},
                           {"locked", lock != nullptr},
                           {"rounds", options.rounds},
                           {"rows", nlohmann::json::array()}};
  for (const Row& row : rows) {
    const double ratio = row.median_s() / rows.front().median_s();
    report["rows"].push_back({{"name", row.name},
                              {"seconds", row.seconds},
                              {"median_s", row.median_s()},
                              {"times_the_first", ratio}});
    if (options.json) continue;
    fmt::print("{:<20} {:8.3f} s {:8.2f} GiB/s {:7.2f} times the first\n",
               row.name,
               row.median_s(),
               static_cast<double>(size_mib) / 1024 / row.median_s(),
               ratio);
  }
  if (options.json) std::cout << report.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace elixir::benchmarks

int main(int argc, char** argv) {
  elixir::benchmarks::Options options;
  return elixir::benchmarks::run({.name = "arena_benchmark",
                                  .usage = "[--size MIB] [--threads N] [--rounds N] [--json]",
                                  .numbers = {{"--size", &options.size_mib},
                                              {"--threads", &options.threads},
                                              {"--rounds", &options.rounds}},
                                  .json = &options.json},
                                 argc,
                                 argv,
                                 [&] { return elixir::benchmarks::benchmark(options); });
}
