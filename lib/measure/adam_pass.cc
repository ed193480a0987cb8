// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/adam_pass.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "kernels/gradient.h"
#include "kernels/split_master.h"
#include "measure/host_memory.h"

namespace elixir::measure {

using kernels::Element;

const char* name_of(Element element) {
  switch (element) {
    case Element::kBFloat16:
      return "bf16";
    case Element::kFloat16:
      return "fp16";
    case Element::kFloat32:
      break;
  }
  return "fp32";
}

std::int64_t adam_parameters_wanted(const Bench& bench, DeviceKind device) {
  if (device == DeviceKind::kCuda) return bench.by_effort<std::int64_t>(512_MiB, 64_MiB);
  const std::int64_t threads = bench.pool->threads();
  return bench.by_effort(std::max(64_MiB, threads * 16_MiB), std::max(8_MiB, threads * 4_MiB));
}

std::int64_t adam_parameters(const Bench& bench, DeviceKind device, std::int64_t memory_bytes) {
  constexpr std::int64_t kBytesPerParameter = 28;  // most of what a pass touches
  constexpr std::int64_t kFewest = 65536;
  return std::max(
      kFewest,
      std::min(adam_parameters_wanted(bench, device), memory_bytes / 4 / kBytesPerParameter));
}

hardware::Figure adam_rate(const AdamPass& pass,
                           DeviceKind device,
                           std::int64_t parameters,
                           const Bench& bench) {
  const auto n = static_cast<std::size_t>(parameters);
  const bool on_gpu = device == DeviceKind::kCuda;
  const std::vector<double> seconds =
      on_gpu ? gpu_adam_seconds(pass, n, bench) : cpu_adam_seconds(pass, n, bench);
  const std::string how =
      on_gpu ? std::string("events") : fmt::format("{}, wall clock", bench.threads_text());
  return rate_figure(static_cast<double>(n), seconds, fmt::format("{}, {}", text_of(pass, n), how));
}

std::string text_of(const AdamPass& pass, std::size_t parameters) {
  return fmt::format("{} parameters, {} gradient, {} moments, {} master",
                     format_count(static_cast<std::int64_t>(parameters)),
                     name_of(pass.gradient),
                     name_of(pass.moments),
                     pass.split ? "split" : "separate");
}

std::vector<double> cpu_adam_seconds(const AdamPass& pass,
                                     std::size_t parameters,
                                     const Bench& bench) {
  kernels::ThreadPool& pool = *bench.pool;
  const std::size_t n = parameters;
  const bool narrow = pass.gradient != Element::kFloat32;
  const std::size_t moment_bytes = kernels::bytes_of(pass.moments);
  const HostMemory master(n * sizeof(float), pool), moment1(n * moment_bytes, pool),
      moment2(n * moment_bytes, pool), gradient(n * kernels::bytes_of(pass.gradient), pool),
      parameter(narrow ? n * 2 : 1, pool), lower(pass.split ? n * 2 : 1, pool);
  fill_random(master.as<float>(), n, pool);
  if (narrow) {
    kernels::convert_cpu(gradient.data(), pass.gradient, master.as<float>(), n, pool);
  } else {
    fill_random(gradient.as<float>(), n, pool);
  }
  kernels::AdamArrays arrays = {master.as<float>(),
                                moment1.data(),
                                moment2.data(),
                                gradient.data(),
                                pass.gradient,
                                narrow ? parameter.data() : nullptr,
                                pass.gradient,
                                n,
                                pass.moments};
  if (pass.split) {
    kernels::split_master_cpu(
        master.as<float>(), parameter.as<std::uint16_t>(), lower.as<std::int16_t>(), n, pool);
    arrays.master = nullptr;
    arrays.lower = lower.as<std::int16_t>();
  }
  std::int64_t step = 0;
  std::vector<double> seconds = sample(bench.sampling(), [&] {
    const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, ++step, 1, 1.0F);
    return seconds_of([&] { kernels::adam_cpu(arrays, scalars, kernels::best_isa(), pool); });
  });
  if (pass.split) {
    kernels::join_master_cpu(
        parameter.as<std::uint16_t>(), lower.as<std::int16_t>(), master.as<float>(), n, pool);
  }
  require(std::isfinite(master.as<float>()[n - 1]), "AdamW gave a value that is not finite");
  return seconds;
}

}  // namespace elixir::measure
