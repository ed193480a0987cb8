// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/adam/adam_pass.h"

#include <algorithm>
#include <cstdint>
#include <latch>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "core/units.h"
#include "hardware/rate_dtypes.h"
#include "measure/adam/adam_chunks.h"
#include "measure/machine/machine.h"

namespace elixir::measure {

using kernels::Element;

std::string_view name_of(Element element) {
  const program::DType dtype = element == Element::kBFloat16  ? program::DType::kBFloat16
                               : element == Element::kFloat16 ? program::DType::kFloat16
                                                              : program::DType::kFloat32;
  return hardware::kRateDTypes.name_of(dtype);
}

std::int64_t adam_parameters_wanted(const Bench& bench, DeviceKind device) {
  if (device == DeviceKind::kCuda) return bench.by_effort<std::int64_t>(512_MiB, 64_MiB);
  const std::int64_t threads = bench.pool->threads();
  // Half as many parameters as the last cache has bytes take eight times its size: a pass over three
  // times its size was a fifth faster than one over memory.
  return std::max(
      bench.by_effort(std::max(64_MiB, threads * 16_MiB), std::max(8_MiB, threads * 4_MiB)),
      last_level_cache_bytes() / 2);
}

std::int64_t adam_parameters(const Bench& bench, DeviceKind device, std::int64_t memory_bytes) {
  constexpr std::int64_t kBytesPerParameter = 28;  // the most that any pass touches
  constexpr std::int64_t kFewest = 65536;
  const std::int64_t room =
      device == DeviceKind::kCuda
          ? memory_bytes / 4 / kBytesPerParameter
          : static_cast<std::int64_t>(bench.spread->bytes()) / 2 / AdamChunks::kBytesPerParameter;
  return std::max(kFewest, std::min(adam_parameters_wanted(bench, device), room));
}

hardware::Figure adam_rate(const AdamPass& pass,
                           DeviceKind device,
                           std::int64_t parameters,
                           const Bench& bench,
                           int ranks) {
  const auto n = static_cast<std::size_t>(parameters);
  const bool on_gpu = device == DeviceKind::kCuda;
  const std::vector<double> seconds =
      on_gpu ? gpu_adam_seconds(pass, n, bench) : cpu_adam_seconds(pass, n, bench, ranks);
  const std::string how = on_gpu       ? std::string("events")
                          : ranks == 1 ? fmt::format("{}, wall clock", bench.threads_text())
                                       : fmt::format(
                                             "{} shared by {} at once, wall clock from the common "
                                             "start to the last end",
                                             bench.threads_text(),
                                             ranks);
  return rate_figure(static_cast<double>(n), seconds, fmt::format("{}, {}", text_of(pass, n), how));
}

std::string text_of(const AdamPass& pass, std::size_t parameters) {
  std::string text = fmt::format("{} parameters, {} gradient, {} moments, {} master",
                                 format_count(static_cast<std::int64_t>(parameters)),
                                 name_of(pass.gradient),
                                 name_of(pass.moments),
                                 pass.split ? "split" : "separate");
  if (pass.writes != hardware::AdamWrites::kAll) {
    text += fmt::format(", writes {} alone", hardware::kAdamWrites.name_of(pass.writes));
  }
  return text;
}

namespace {

/// Seconds from the common start of all passes to the last end.
double seconds_together(std::vector<std::unique_ptr<AdamChunks>>& ranks, std::int64_t step) {
  std::latch ready(static_cast<std::ptrdiff_t>(ranks.size()));
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    others.emplace_back([&ready, &rank = *ranks[i], step] {
      ready.arrive_and_wait();
      rank.run(step);
    });
  }
  ready.arrive_and_wait();
  return seconds_of([&] {
    ranks[0]->run(step);
    for (std::thread& other : others) other.join();
  });
}

}  // namespace

std::vector<double> cpu_adam_seconds(const AdamPass& pass,
                                     std::size_t parameters,
                                     const Bench& bench,
                                     int ranks) {
  std::vector<std::unique_ptr<kernels::ThreadPool>> pools;
  std::vector<std::unique_ptr<AdamChunks>> adams;
  for (int rank = 0; rank < ranks; ++rank) {
    kernels::ThreadPool* pool = bench.pool;
    if (bench.on_cuda() || ranks > 1) {
      const int threads = std::max(1, bench.pool->threads() / ranks);
      pool = pools
                 .emplace_back(std::make_unique<kernels::ThreadPool>(
                     threads, kernels::Binding::kNone, 0, kernels::Caller::kGivesJobs))
                 .get();
    }
    adams.push_back(std::make_unique<AdamChunks>(
        pass, parameters / static_cast<std::size_t>(ranks), *bench.spread, *pool));
  }
  std::int64_t step = 0;
  std::vector<double> seconds =
      sample(bench.sampling(), [&] { return seconds_together(adams, ++step); });
  for (const auto& adam : adams) adam->require_finite();
  return seconds;
}

}  // namespace elixir::measure
