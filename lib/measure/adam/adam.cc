// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Rates of the optimizer pass that the runtime runs (kernels/adam.h).
#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "measure/adam/adam_pass.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

using hardware::AdamRate;
using hardware::HardwareProfile;
using kernels::Element;

std::vector<AdamRate> rates_of(const Bench& bench,
                               DeviceKind device,
                               std::int64_t parameters,
                               int ranks = 1) {
  std::vector<AdamRate> rates;
  for (const Element type : {Element::kBFloat16, Element::kFloat16, Element::kFloat32}) {
    const AdamPass pass = {.gradient = type};
    rates.push_back(
        {std::string(name_of(type)), ranks, adam_rate(pass, device, parameters, bench, ranks)});
  }
  return rates;
}

const Registration kAdamCpu({
    "adam-cpu",
    "parameters per second of AdamW on the CPU, fp32 states, by dtype of gradient and parameter, "
    "and of 2, 4, 8 … processes at once where there are as many GPUs",
    "the runtime's kernel over arrays far larger than the caches, by all threads, which processes "
    "at once divide among them",
    9.0,
    1.2,
    never,
    [](const Bench& bench, HardwareProfile& profile) {
      const std::int64_t wanted = adam_parameters_wanted(bench, DeviceKind::kCpu);
      const std::int64_t n = adam_parameters(bench, DeviceKind::kCpu, bench.memory_bytes);
      if (n < wanted) {
        profile.noticed["adam-cpu"] = fmt::format(
            "too little memory: {} parameters, not {}", format_count(n), format_count(wanted));
      }
      profile.adam_cpu = rates_of(bench, DeviceKind::kCpu, n);
      // There is one process per GPU. This is the rate of all of them together.
      for (const int ranks : rank_counts(bench)) {
        const std::vector<AdamRate> together = rates_of(bench, DeviceKind::kCpu, n, ranks);
        profile.adam_cpu.insert(profile.adam_cpu.end(), together.begin(), together.end());
      }
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
      const std::int64_t n =
          adam_parameters(bench, DeviceKind::kCuda, profile.gpus.at(0).memory_bytes);
      profile.adam_gpu = rates_of(bench, DeviceKind::kCuda, n);
    },
});

}  // namespace
}  // namespace elixir::measure
