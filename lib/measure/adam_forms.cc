// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Rates of the optimizer pass in every form that its kernels have, and by size: what a plan could
// choose, beside the form that the runtime uses (adam.cc).
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "measure/adam_pass.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

using hardware::AdamFormRate;
using hardware::HardwareProfile;
using kernels::Element;

/// All that adam-cpu and adam-gpu do not measure.
constexpr std::array<AdamPass, 6> kForms{{
    {.gradient = Element::kBFloat16, .split = true},
    {.gradient = Element::kBFloat16, .moments = Element::kBFloat16},
    {.gradient = Element::kBFloat16, .moments = Element::kBFloat16, .split = true},
    {.gradient = Element::kFloat16, .moments = Element::kBFloat16},
    {.gradient = Element::kFloat32, .moments = Element::kBFloat16},
    {.gradient = Element::kBFloat16},
}};
/// Of the last of them: from what a core's cache holds to what none does.
constexpr std::array<std::int64_t, 3> kSmallerSizes{64_KiB, 1_MiB, 16_MiB};

/// At most a quarter of `memory_bytes`.
std::int64_t allowed(std::int64_t wanted, std::int64_t memory_bytes) {
  constexpr std::int64_t kMostBytesPerParameter = 28;
  return std::max<std::int64_t>(1, std::min(wanted, memory_bytes / 4 / kMostBytesPerParameter));
}

AdamFormRate rate_of(const Bench& bench,
                     DeviceKind device,
                     const AdamPass& pass,
                     std::int64_t parameters) {
  const bool on_gpu = device == DeviceKind::kCuda;
  const auto n = static_cast<std::size_t>(parameters);
  const std::vector<double> seconds =
      on_gpu ? gpu_adam_seconds(pass, n, bench) : cpu_adam_seconds(pass, n, bench);
  const std::string how =
      on_gpu ? std::string("events") : fmt::format("{}, wall clock", bench.threads_text());
  return {
      on_gpu ? "gpu" : "cpu",
      name_of(pass.gradient),
      name_of(pass.moments),
      pass.split ? "split" : "separate",
      parameters,
      rate_figure(static_cast<double>(n), seconds, fmt::format("{}, {}", text_of(pass, n), how))};
}

void measure_forms(const Bench& bench,
                   DeviceKind device,
                   std::int64_t parameters,
                   std::vector<AdamFormRate>& rates) {
  for (const AdamPass& pass : kForms) rates.push_back(rate_of(bench, device, pass, parameters));
  for (const std::int64_t smaller : kSmallerSizes) {
    if (smaller < parameters) rates.push_back(rate_of(bench, device, kForms.back(), smaller));
  }
}

const Registration kAdamForms({
    "adam-forms",
    "parameters per second of AdamW by dtype of gradient and moments, form of the master, and size",
    "as adam-cpu and adam-gpu, every form that the kernels have; one form from cache size upward",
    18.0,
    3.0,
    never,
    [](const Bench& bench, HardwareProfile& profile) {
      std::vector<AdamFormRate> rates;
      const std::int64_t threads = bench.pool->threads();
      const std::int64_t on_cpu =
          bench.by_effort(std::max(64_MiB, threads * 16_MiB), std::max(8_MiB, threads * 4_MiB));
      measure_forms(bench, DeviceKind::kCpu, allowed(on_cpu, bench.memory_bytes), rates);
      if (bench.on_cuda()) {
        const std::int64_t on_gpu = bench.by_effort<std::int64_t>(512_MiB, 64_MiB);
        measure_forms(
            bench, DeviceKind::kCuda, allowed(on_gpu, profile.gpus.at(0).memory_bytes), rates);
      }
      profile.adam_forms = std::move(rates);
    },
});

}  // namespace
}  // namespace elixir::measure
