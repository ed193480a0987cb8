// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Rates of the optimizer pass that the runtime runs (kernels/adam.h).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "kernels/adam.h"
#include "kernels/gradient.h"
#include "measure/adam_gpu.h"
#include "measure/gpu_probe.h"
#include "measure/host_memory.h"
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

AdamRate measure_cpu(const Bench& bench, Element type, const char* name) {
  const std::size_t n = parameters_for(bench);
  const bool narrow = type != Element::kFloat32;
  const HostMemory master(n * 4, *bench.pool), moment1(n * 4, *bench.pool),
      moment2(n * 4, *bench.pool), gradient(n * (narrow ? 2 : 4), *bench.pool),
      parameter(narrow ? n * 2 : 1, *bench.pool);
  fill_random(master.as<float>(), n, *bench.pool);
  if (narrow) {
    kernels::convert_cpu(gradient.data(), type, master.as<float>(), n, *bench.pool);
  } else {
    fill_random(gradient.as<float>(), n, *bench.pool);
  }
  const kernels::AdamArrays arrays = {master.as<float>(),
                                      moment1.as<float>(),
                                      moment2.as<float>(),
                                      gradient.data(),
                                      type,
                                      narrow ? parameter.data() : nullptr,
                                      type,
                                      n};
  std::int64_t step = 0;
  const std::vector<double> seconds = sample(bench.sampling(), [&] {
    const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, ++step, 1, 1.0F);
    return seconds_of(
        [&] { kernels::adam_cpu(arrays, scalars, kernels::best_isa(), *bench.pool); });
  });
  require(std::isfinite(master.as<float>()[n - 1]), "AdamW gave a value that is not finite");
  return {name,
          1,
          rate_figure(static_cast<double>(n),
                      seconds,
                      fmt::format("{} parameters, {} gradient, fp32 states, {}, wall clock",
                                  format_count(static_cast<std::int64_t>(n)),
                                  name,
                                  bench.threads_text()))};
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
      profile.adam_cpu = {measure_cpu(bench, Element::kBFloat16, "bf16"),
                          measure_cpu(bench, Element::kFloat16, "fp16"),
                          measure_cpu(bench, Element::kFloat32, "fp32")};
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
      profile.adam_gpu.clear();
      for (const auto& [type, name] : {std::pair{Element::kBFloat16, "bf16"},
                                       std::pair{Element::kFloat16, "fp16"},
                                       std::pair{Element::kFloat32, "fp32"}}) {
        profile.adam_gpu.push_back(
            {name,
             1,
             rate_figure(static_cast<double>(n),
                         gpu_adam_seconds(type, n, bench.sampling()),
                         fmt::format("{} parameters, {} gradient, fp32 states, events",
                                     format_count(static_cast<std::int64_t>(n)),
                                     name))});
      }
    },
});

}  // namespace
}  // namespace elixir::measure
