// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/adam/adam_pass.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"
#include "hardware/rate_dtypes.h"
#include "measure/adam/adam_chunks.h"
#include "measure/adam/rank_adam.h"
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

/// In a training passes follow each other without a pause. A pass alone would seem up to a tenth slower: threads wake up
/// first, and wait for the last one in the end. So a sample has several. What a cache may hold stays alone.
std::size_t passes_in_sample(std::size_t parameters, const Bench& bench) {
  if (parameters < AdamChunks::kFewParameters) return 1;
  // Without a GPU all threads wait for each other at the end of every chunk, in a training, too.
  const std::size_t fewest = bench.on_cuda() ? 3 : 1;
  const auto wanted = static_cast<std::size_t>(parameters_at_full_effort(bench));
  return std::max(wanted / parameters, fewest);
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
  const AdamTimes times = on_gpu ? AdamTimes{gpu_adam_seconds(pass, n, bench), "events"}
                                 : cpu_adam_times(pass, n, bench, ranks);
  return rate_figure(
      static_cast<double>(n), times.seconds, fmt::format("{}, {}", text_of(pass, n), times.how));
}

std::vector<int> rank_counts(const Bench& bench) {
  std::vector<int> counts;
  for (int ranks = 2; ranks <= std::min(bench.gpus, bench.pool->threads()); ranks *= 2) {
    counts.push_back(ranks);
  }
  return counts;
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

AdamTimes cpu_adam_times(const AdamPass& pass,
                         std::size_t parameters,
                         const Bench& bench,
                         int ranks) {
  RankAdam adam(pass, parameters, *bench.spread, rank_pools(bench, ranks));
  const std::size_t passes = passes_in_sample(parameters, bench);
  std::vector<double> seconds = sample(bench.sampling(), [&] {
    const double all = seconds_of([&] {
      for (std::size_t i = 0; i < passes; ++i) adam.begin_pass();
      adam.finish();
    });
    return all / static_cast<double>(passes);
  });
  adam.require_finite();
  return {std::move(seconds),
          fmt::format("{}{}, wall clock{}",
                      text_of_threads(adam.threads()),
                      ranks == 1 ? "" : fmt::format(" shared by {} at once", ranks),
                      passes == 1 ? "" : fmt::format(" of {} passes", passes))};
}

}  // namespace elixir::measure
