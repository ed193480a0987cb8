// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Rates of the optimizer pass that the runtime runs (kernels/adam.h).
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "core/units.h"
#include "measure/adam_pass.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

using hardware::AdamRate;
using hardware::HardwareProfile;
using kernels::Element;

constexpr std::size_t kBytesPerParameter = 28;  // most of what a pass touches

/// Far beyond the caches, which grow with the cores; virtual machines do not say how large they
/// are.
std::int64_t parameters_wanted(const Bench& bench) {
  const std::int64_t threads = bench.pool->threads();
  return bench.by_effort(std::max(64_MiB, threads * 16_MiB), std::max(8_MiB, threads * 4_MiB));
}

/// What memory allows of that.
std::size_t parameters_for(const Bench& bench) {
  const std::int64_t allowed =
      bench.memory_bytes / 4 / static_cast<std::int64_t>(kBytesPerParameter);
  return static_cast<std::size_t>(
      std::max<std::int64_t>(65536, std::min(parameters_wanted(bench), allowed)));
}

AdamRate cpu_rate(const Bench& bench, Element type) {
  const std::size_t n = parameters_for(bench);
  const AdamPass pass = {.gradient = type};
  return {name_of(type),
          1,
          rate_figure(static_cast<double>(n),
                      cpu_adam_seconds(pass, n, bench),
                      fmt::format("{}, {}, wall clock", text_of(pass, n), bench.threads_text()))};
}

AdamRate gpu_rate(const Bench& bench, Element type, std::size_t n) {
  const AdamPass pass = {.gradient = type};
  return {name_of(type),
          1,
          rate_figure(static_cast<double>(n),
                      gpu_adam_seconds(pass, n, bench),
                      fmt::format("{}, events", text_of(pass, n)))};
}

const Registration kAdamCpu({
    "adam-cpu",
    "parameters per second of AdamW on the CPU, fp32 states, by dtype of gradient and parameter",
    "the runtime's kernel over arrays far larger than the caches, by all threads",
    7.0,
    1.2,
    never,
    [](const Bench& bench, HardwareProfile& profile) {
      const std::int64_t wanted = parameters_wanted(bench);
      const auto n = static_cast<std::int64_t>(parameters_for(bench));
      if (n < wanted) {
        profile.noticed["adam-cpu"] = fmt::format(
            "too little memory: {} parameters, not {}", format_count(n), format_count(wanted));
      }
      profile.adam_cpu = {cpu_rate(bench, Element::kBFloat16),
                          cpu_rate(bench, Element::kFloat16),
                          cpu_rate(bench, Element::kFloat32)};
    },
});

const Registration kAdamGpu({
    "adam-gpu",
    "parameters per second of AdamW on the GPU, fp32 states, by dtype of gradient and parameter",
    "the runtime's kernel over one flat chunk far larger than the caches, events",
    3.0,
    0.6,
    unless_cuda,
    [](const Bench& bench, HardwareProfile& profile) {
      const std::int64_t allowed =
          profile.gpus.at(0).memory_bytes / 4 / static_cast<std::int64_t>(kBytesPerParameter);
      const auto n = static_cast<std::size_t>(
          std::min(bench.by_effort<std::int64_t>(512_MiB, 64_MiB), allowed));
      profile.adam_gpu = {gpu_rate(bench, Element::kBFloat16, n),
                          gpu_rate(bench, Element::kFloat16, n),
                          gpu_rate(bench, Element::kFloat32, n)};
    },
});

}  // namespace
}  // namespace elixir::measure
