// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/adam/adam_pass.h"

#include <algorithm>
#include <cstdint>
#include <memory>

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

namespace {

/// Of a pass without --quick.
std::int64_t parameters_at_full_effort(const Bench& bench) {
  return std::max(64_MiB, bench.pool->threads() * 16_MiB);
}

/// In a training passes follow each other without a pause. A short pass alone would seem up to a tenth slower: threads wake
/// up first, and wait for the last one in the end. So a sample has several. What a cache may hold stays alone.
std::size_t passes_in_sample(std::size_t parameters, const Bench& bench) {
  if (parameters < AdamChunks::kFewParameters) return 1;
  const auto wanted = static_cast<std::size_t>(parameters_at_full_effort(bench));
  return std::max<std::size_t>(wanted / parameters, 1);
}

}  // namespace

std::int64_t adam_parameters_wanted(const Bench& bench, DeviceKind device) {
  if (device == DeviceKind::kCuda) return bench.by_effort<std::int64_t>(512_MiB, 64_MiB);
  // Half as many parameters as the last cache has bytes take eight times its size: a pass over three
  // times its size was a fifth faster than one over memory.
  return std::max(bench.by_effort(parameters_at_full_effort(bench),
                                  std::max(8_MiB, bench.pool->threads() * 4_MiB)),
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
  const auto on_cores = [&] {
    const std::size_t passes = passes_in_sample(n, bench);
    return fmt::format("{}{}, wall clock{}",
                       bench.threads_text(),
                       ranks == 1 ? "" : fmt::format(" shared by {} at once", ranks),
                       passes == 1 ? "" : fmt::format(" of {} passes", passes));
  };
  const std::string how = on_gpu ? std::string("events") : on_cores();
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
      const kernels::Binding binding =
          bench.on_cuda() ? kernels::Binding::kOneCpuEach : kernels::Binding::kNone;
      pool = pools
                 .emplace_back(std::make_unique<kernels::ThreadPool>(
                     threads, binding, rank * threads, kernels::Caller::kGivesJobs))
                 .get();
    }
    adams.push_back(std::make_unique<AdamChunks>(
        pass, parameters / static_cast<std::size_t>(ranks), *bench.spread, *pool));
  }
  const std::size_t passes = passes_in_sample(parameters, bench);
  std::vector<double> seconds = sample(bench.sampling(), [&] {
    const double all = seconds_of([&] {
      // Ranks have as many chunks. In turn, so that none waits while another one's jobs are given.
      for (std::size_t i = 0; i < passes * adams.front()->count(); ++i) {
        for (const auto& adam : adams) adam->begin_next();
      }
      for (const auto& adam : adams) adam->finish();
    });
    return all / static_cast<double>(passes);
  });
  for (const auto& adam : adams) adam->require_finite();
  return seconds;
}

}  // namespace elixir::measure
