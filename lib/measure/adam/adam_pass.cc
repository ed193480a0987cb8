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

/// With a GPU a training's state fills most of the memory, and that is not equally fast everywhere:
/// over 8 places of 0.27 GiB of a virtual machine's memory AdamW was 16 % faster and 10 % slower
/// than over 90 GiB of it.
constexpr std::int64_t kSpreadParameters = std::int64_t{1} << 30;

/// The parameters of a pass without --quick.
std::int64_t parameters_at_full_effort(const Bench& bench) {
  return std::max(64_MiB, bench.pool->threads() * 16_MiB);
}

/// In a training passes follow each other without a pause. A pass alone would seem up to a tenth
/// slower: threads wake up first, and wait for the last one in the end. So a sample has as many
/// parameters as a pass at full effort, and with a GPU 512 Mi at least. What a cache may hold stays
/// alone. Without a GPU all threads wait for each other at the end of every chunk, in a training,
/// too. `chunks`: how many each rank has.
std::size_t chunks_in_sample(std::size_t parameters, std::size_t chunks, const Bench& bench) {
  if (parameters < AdamChunks::kFewParameters) return chunks;
  const auto full = static_cast<std::size_t>(parameters_at_full_effort(bench));
  if (!bench.on_cuda()) return std::max<std::size_t>(full / parameters, 1) * chunks;
  const std::size_t wanted = std::max(full, static_cast<std::size_t>(512_MiB));
  return std::max<std::size_t>(wanted / (parameters / chunks), 1);
}

}  // namespace

std::int64_t adam_parameters_wanted(const Bench& bench, DeviceKind device) {
  if (device == DeviceKind::kCuda) return bench.by_effort<std::int64_t>(512_MiB, 64_MiB);
  // Half as many parameters as the last cache has bytes take eight times its size: a pass over
  // three times its size was a fifth faster than one over memory.
  return std::max(bench.by_effort(parameters_at_full_effort(bench),
                                  std::max(8_MiB, bench.pool->threads() * 4_MiB)),
                  last_level_cache_bytes() / 2);
}

std::int64_t adam_parameters(const Bench& bench, DeviceKind device, std::int64_t memory_bytes) {
  constexpr std::int64_t kBytesPerParameter = 28;  // the most that any pass touches
  constexpr std::int64_t kFewest = 65536;
  const std::int64_t wanted = adam_parameters_wanted(bench, device);
  if (device == DeviceKind::kCuda) {
    return std::max(kFewest, std::min(wanted, memory_bytes / 4 / kBytesPerParameter));
  }
  const std::int64_t room =
      static_cast<std::int64_t>(bench.spread->bytes()) / 2 / AdamChunks::kBytesPerParameter;
  const std::int64_t most = bench.on_cuda() ? std::max(wanted, kSpreadParameters) : wanted;
  return std::max(kFewest, std::min(most, room));
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
  std::vector<int> counts = bench.gpus_at_once();
  while (!counts.empty() && counts.back() > bench.pool->threads()) counts.pop_back();
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
  const std::size_t chunks = chunks_in_sample(parameters, adam.chunks(), bench);
  const double passes = static_cast<double>(chunks) / static_cast<double>(adam.chunks());
  std::vector<double> seconds = sample(bench.sampling(), [&] {
    return seconds_of([&] {
             adam.begin(chunks);
             adam.finish();
           }) /
           passes;
  });
  adam.require_finite();
  return {std::move(seconds),
          fmt::format("{}{}, wall clock{}",
                      text_of_threads(adam.threads()),
                      ranks == 1 ? "" : fmt::format(" shared by {} at once", ranks),
                      passes == 1 ? "" : fmt::format(" of {:.3g} passes", passes))};
}

}  // namespace elixir::measure
