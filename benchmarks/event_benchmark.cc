// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measures what an event costs the stream that records it: how much longer each fill of a buffer
// takes with events behind it, on an idle link and beside copies in both directions. Needs a GPU.
// No result but the time is checked.
//
// usage: event_benchmark [--fills N] [--rounds N] [--json]   by default 1500 fills, 5 rounds;
// figures are medians
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/gpu_streams.h"
#include "benchmarks/median.h"

namespace elixir::benchmarks {
namespace {

constexpr std::size_t kFilledBytes = std::size_t{128} << 20;  // about 50 microseconds on an H100

struct Options {
  long fills = 1500, rounds = 5;
  bool json = false;
};

struct Case {
  const char* name;
  unsigned flags;
  int records;  ///< behind each fill
};
constexpr std::array<Case, 6> kCases{{
    {"none", cudaEventDisableTiming, 0},
    {"for streams", cudaEventDisableTiming, 1},
    {"with a time", cudaEventDefault, 1},
    {"two with a time", cudaEventDefault, 2},
    {"that wakes a thread", cudaEventDisableTiming | cudaEventBlockingSync, 1},
    {"with a time, that wakes a thread", cudaEventBlockingSync, 1},
}};

/// Microseconds of a fill with its events.
double microseconds(const Case& of, long fills, void* filled, cudaStream_t stream) {
  std::vector<cudaEvent_t> events(static_cast<std::size_t>(fills * of.records));
  for (cudaEvent_t& event : events) check(cudaEventCreateWithFlags(&event, of.flags));
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::size_t next = 0;
  // The first ones let the host get ahead.
  for (long i = -fills / 4; i < fills; ++i) {
    if (i == 0) check(cudaEventRecord(begin, stream));
    check(cudaMemsetAsync(filled, 0, kFilledBytes, stream));
    for (int record = 0; i >= 0 && record < of.records; ++record) {
      check(cudaEventRecord(events[next++], stream));
    }
  }
  check(cudaEventRecord(end, stream));
  check(cudaEventSynchronize(end));
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end));
  for (cudaEvent_t event : events) check(cudaEventDestroy(event));
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  return 1e3 * static_cast<double>(ms) / static_cast<double>(fills);
}

void measure(const Options& options, const char* beside, nlohmann::json& rows) {
  void* filled = nullptr;
  check(cudaMalloc(&filled, kFilledBytes));
  const cudaStream_t stream = make_stream();
  std::array<std::vector<double>, kCases.size()> times;
  for (long round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < kCases.size(); ++i) {
      times[i].push_back(microseconds(kCases[i], options.fills, filled, stream));
    }
  }
  const double alone = median(times[0]);
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    const double time = median(times[i]);
    rows.push_back({{"events", kCases[i].name},
                    {"beside", beside},
                    {"fill_us", time},
                    {"events_us", time - alone}});
    if (options.json) continue;
    fmt::print(
        "{:<14} {:<34} {:8.2f} us a fill {:+7.2f}\n", beside, kCases[i].name, time, time - alone);
  }
  check(cudaStreamDestroy(stream));
  check(cudaFree(filled));
}

int benchmark(const Options& options) {
  nlohmann::json report = {
      {"fills", options.fills}, {"rounds", options.rounds}, {"rows", nlohmann::json::array()}};
  measure(options, "nothing", report["rows"]);
  {
    const BackgroundCopies copies;
    measure(options, "copies", report["rows"]);
  }
  if (options.json) std::cout << report.dump(2) << '\n';
  return 0;
}

}  // namespace
}  // namespace elixir::benchmarks

int main(int argc, char** argv) {
  elixir::benchmarks::Options options;
  return elixir::benchmarks::run(
      {.name = "event_benchmark",
       .usage = "[--fills N] [--rounds N] [--json]",
       .numbers = {{"--fills", &options.fills}, {"--rounds", &options.rounds}},
       .json = &options.json},
      argc,
      argv,
      [&] { return elixir::benchmarks::benchmark(options); });
}
