// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Rates of the optimizer pass in every form of its kernels, and by size. A plan could choose these
// forms instead of the one that the runtime uses (adam.cc).
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/units.h"
#include "measure/adam/adam_pass.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

using hardware::AdamFormRate;
using hardware::AdamWrites;
using hardware::HardwareProfile;
using kernels::Element;

/// All forms that adam-cpu and adam-gpu do not measure. The first one of several ranks, too, the
/// last one also in smaller sizes.
constexpr std::array<AdamPass, 6> kForms{{
    {.gradient = Element::kBFloat16, .split = true},
    {.gradient = Element::kBFloat16, .moments = Element::kBFloat16},
    {.gradient = Element::kBFloat16, .moments = Element::kBFloat16, .split = true},
    {.gradient = Element::kFloat16, .moments = Element::kBFloat16},
    {.gradient = Element::kFloat32, .moments = Element::kBFloat16},
    {.gradient = Element::kBFloat16},
}};
/// An update on the host in two parts: parameters first, moments later. Of several ranks, too.
constexpr std::array<AdamPass, 4> kHostParts{{
    {.gradient = Element::kBFloat16, .split = true, .writes = AdamWrites::kParameters},
    {.gradient = Element::kBFloat16, .writes = AdamWrites::kMoments},
    {.gradient = Element::kBFloat16,
     .moments = Element::kBFloat16,
     .split = true,
     .writes = AdamWrites::kParameters},
    {.gradient = Element::kBFloat16, .moments = Element::kBFloat16, .writes = AdamWrites::kMoments},
}};
/// Sizes for the last form: from what fits into one core's cache to what fits into none.
constexpr std::array<std::int64_t, 3> kSmallerSizes{64_KiB, 1_MiB, 16_MiB};

AdamFormRate rate_of(const Bench& bench,
                     DeviceKind device,
                     const AdamPass& pass,
                     std::int64_t parameters,
                     int ranks = 1) {
  return {device == DeviceKind::kCuda ? "gpu" : "cpu",
          std::string(name_of(pass.gradient)),
          std::string(name_of(pass.moments)),
          pass.split ? "split" : "separate",
          parameters,
          adam_rate(pass, device, parameters, bench, ranks),
          pass.writes,
          ranks};
}

void measure_forms(const Bench& bench,
                   DeviceKind device,
                   std::int64_t memory_bytes,
                   std::vector<AdamFormRate>& rates) {
  const std::int64_t parameters = adam_parameters(bench, device, memory_bytes);
  for (const AdamPass& pass : kForms) rates.push_back(rate_of(bench, device, pass, parameters));
  if (device == DeviceKind::kCpu) {
    for (const AdamPass& pass : kHostParts)
      rates.push_back(rate_of(bench, device, pass, parameters));
    for (const int ranks : rank_counts(bench)) {
      for (const AdamPass& pass : kHostParts) {
        rates.push_back(rate_of(bench, device, pass, parameters, ranks));
      }
      rates.push_back(rate_of(bench, device, kForms.front(), parameters, ranks));
    }
  }
  for (const std::int64_t smaller : kSmallerSizes) {
    if (smaller < parameters) rates.push_back(rate_of(bench, device, kForms.back(), smaller));
  }
}

const Registration kAdamForms({
    "adam-forms",
    "parameters per second of AdamW by dtype of gradient and moments, form of the master, and "
    "size; on "
    "the CPU also of parameters and of moments alone",
    "as adam-cpu and adam-gpu, every form that the kernels have; one form from cache size upward",
    13.0,
    4.0,
    never,
    [](const Bench& bench, HardwareProfile& profile) {
      std::vector<AdamFormRate> rates;
      measure_forms(bench, DeviceKind::kCpu, bench.memory_bytes, rates);
      if (bench.on_cuda()) {
        measure_forms(bench, DeviceKind::kCuda, profile.gpus.at(0).memory_bytes, rates);
      }
      profile.adam_forms = std::move(rates);
    },
});

}  // namespace
}  // namespace elixir::measure
