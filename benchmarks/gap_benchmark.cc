// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measures how long a copy to the GPU takes while another stream has copies in the same direction
// without an end, with and without gaps between these (kernels/cuda_kernels.h), and what the gaps
// cost. Needs a GPU. No result but the time is checked.
//
// usage: gap_benchmark [--copies N] [--beside-ms N] [--json]   by default 60 copies of 64 MiB;
// those beside them end after 400 ms; the host keeps six of them enqueued
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/gpu_streams.h"
#include "benchmarks/median.h"
#include "kernels/cuda_kernels.h"

namespace elixir::benchmarks {
namespace {

constexpr std::size_t kCopiedBytes = std::size_t{64} << 20;
constexpr std::size_t kBesideBytes = std::size_t{96} << 20;
constexpr std::size_t kEnqueued = 6;

struct Options {
  long copies = 60, beside_ms = 400;
  bool json = false;
};

enum class Beside { kNothing, kCopies, kCopiesWithGaps };

cudaEvent_t make_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags));
  return event;
}

/// Copies without an end, until it is told to stop or its time is over.
class EndlessCopies {
 public:
  EndlessCopies(bool gaps, long most_ms)
      : thread_([this, gaps, most_ms] {
          const CopyPlace place(kBesideBytes);
          std::array<cudaEvent_t, kEnqueued> ends{};
          for (cudaEvent_t& end : ends) end = make_event(cudaEventDisableTiming);
          const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(most_ms);
          while (!stopping_.load() && std::chrono::steady_clock::now() < until) {
            cudaEvent_t end = ends[static_cast<std::size_t>(count_) % kEnqueued];
            check(cudaEventSynchronize(end));
            place.copy(cudaMemcpyHostToDevice);
            if (gaps) kernels::leave_gap_cuda(place.stream());
            check(cudaEventRecord(end, place.stream()));
            ++count_;
          }
          check(cudaStreamSynchronize(place.stream()));
          for (cudaEvent_t end : ends) check(cudaEventDestroy(end));
        }) {
    while (count_.load() < static_cast<long>(kEnqueued)) std::this_thread::yield();
  }
  ~EndlessCopies() {
    stopping_.store(true);
    thread_.join();
  }
  EndlessCopies(const EndlessCopies&) = delete;
  EndlessCopies& operator=(const EndlessCopies&) = delete;
  [[nodiscard]] long count() const { return count_.load(); }

 private:
  std::atomic<bool> stopping_{false};
  std::atomic<long> count_{0};
  std::thread thread_;
};

struct Times {
  std::vector<double> ms;  ///< of each copy
  double total_ms = 0, beside_bytes_per_s = 0;
};

Times measure(const Options& options, Beside beside) {
  const CopyPlace place(kCopiedBytes);
  cudaEvent_t begin = make_event(cudaEventDefault), end = make_event(cudaEventDefault);
  Times times;
  std::optional<EndlessCopies> copies;
  if (beside != Beside::kNothing) {
    copies.emplace(beside == Beside::kCopiesWithGaps, options.beside_ms);
  }
  const long before = copies ? copies->count() : 0;
  const auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < options.copies; ++i) {
    check(cudaEventRecord(begin, place.stream()));
    place.copy(cudaMemcpyHostToDevice);
    check(cudaEventRecord(end, place.stream()));
    check(cudaEventSynchronize(end));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end));
    times.ms.push_back(static_cast<double>(ms));
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  times.total_ms = 1e3 * elapsed.count();
  if (copies) {
    times.beside_bytes_per_s = static_cast<double>(copies->count() - before) *
                               static_cast<double>(kBesideBytes) / elapsed.count();
  }
  copies.reset();
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  return times;
}

int benchmark(const Options& options) {
  nlohmann::json report = {
      {"copies", options.copies}, {"bytes", kCopiedBytes}, {"rows", nlohmann::json::array()}};
  struct Case {
    const char* name;
    Beside beside;
  };
  for (const Case& of : {Case{"nothing", Beside::kNothing},
                         Case{"copies", Beside::kCopies},
                         Case{"copies with gaps", Beside::kCopiesWithGaps}}) {
    const Times times = measure(options, of.beside);
    const double longest_ms = *std::max_element(times.ms.begin(), times.ms.end());
    report["rows"].push_back({{"beside", of.name},
                              {"total_ms", times.total_ms},
                              {"copy_ms", median(times.ms)},
                              {"longest_copy_ms", longest_ms},
                              {"beside_bytes_per_s", times.beside_bytes_per_s}});
    if (options.json) continue;
    fmt::print(
        "beside {:<17} {:7.1f} ms, a copy {:5.2f} ms, the longest {:6.1f} ms; beside them {:5.1f} "
        "GB/s\n",
        of.name,
        times.total_ms,
        median(times.ms),
        longest_ms,
        times.beside_bytes_per_s / 1e9);
  }
  if (options.json) std::cout << report.dump(2) << '\n';
  return 0;
}

}  // namespace
}  // namespace elixir::benchmarks

int main(int argc, char** argv) {
  elixir::benchmarks::Options options;
  return elixir::benchmarks::run(
      {.name = "gap_benchmark",
       .usage = "[--copies N] [--beside-ms N] [--json]",
       .numbers = {{"--copies", &options.copies}, {"--beside-ms", &options.beside_ms}},
       .json = &options.json},
      argc,
      argv,
      [&] { return elixir::benchmarks::benchmark(options); });
}
