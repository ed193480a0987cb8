// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/adam/adam_pass.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <latch>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "hardware/rate_dtypes.h"
#include "kernels/gradient.h"
#include "kernels/split_master.h"
#include "measure/host/host_memory.h"
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
  return std::max(
      kFewest,
      std::min(adam_parameters_wanted(bench, device), memory_bytes / 4 / kBytesPerParameter));
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
  return fmt::format("{} parameters, {} gradient, {} moments, {} master",
                     format_count(static_cast<std::int64_t>(parameters)),
                     name_of(pass.gradient),
                     name_of(pass.moments),
                     pass.split ? "split" : "separate");
}

namespace {

/// The data of one process: arrays for `n` parameters, and its own threads.
class CpuAdam {
 public:
  CpuAdam(const AdamPass& pass, std::size_t n, kernels::ThreadPool& pool)
      : pool_(pool),
        master_(n * sizeof(float), pool),
        moment1_(n * kernels::bytes_of(pass.moments), pool),
        moment2_(n * kernels::bytes_of(pass.moments), pool),
        gradient_(n * kernels::bytes_of(pass.gradient), pool),
        parameter_(is_narrow(pass) ? n * 2 : 1, pool),
        lower_(pass.split ? n * 2 : 1, pool) {
    fill_random(master_.as<float>(), n, pool);
    if (is_narrow(pass)) {
      kernels::convert_cpu(gradient_.data(), pass.gradient, master_.as<float>(), n, pool);
    } else {
      fill_random(gradient_.as<float>(), n, pool);
    }
    arrays_ = {master_.as<float>(),
               moment1_.data(),
               moment2_.data(),
               gradient_.data(),
               pass.gradient,
               is_narrow(pass) ? parameter_.data() : nullptr,
               pass.gradient,
               n,
               pass.moments};
    if (pass.split) {
      kernels::split_master_cpu(
          master_.as<float>(), parameter_.as<std::uint16_t>(), lower_.as<std::int16_t>(), n, pool);
      arrays_.master = nullptr;
      arrays_.lower = lower_.as<std::int16_t>();
    }
  }

  void run(std::int64_t step) {
    const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, step, 1, 1.0F);
    kernels::adam_cpu(arrays_, scalars, kernels::best_isa(), pool_);
  }

  void require_finite() {
    if (arrays_.lower != nullptr) {
      kernels::join_master_cpu(parameter_.as<std::uint16_t>(),
                               lower_.as<std::int16_t>(),
                               master_.as<float>(),
                               arrays_.n,
                               pool_);
    }
    require(std::isfinite(master_.as<float>()[arrays_.n - 1]),
            "AdamW gave a value that is not finite");
  }

 private:
  static bool is_narrow(const AdamPass& pass) { return pass.gradient != Element::kFloat32; }

  kernels::ThreadPool& pool_;
  HostMemory master_, moment1_, moment2_, gradient_, parameter_, lower_;
  kernels::AdamArrays arrays_;
};

/// Seconds from the common start of all passes to the last end.
double seconds_together(std::vector<std::unique_ptr<CpuAdam>>& ranks, std::int64_t step) {
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
  std::vector<std::unique_ptr<CpuAdam>> adams;
  for (int rank = 0; rank < ranks; ++rank) {
    kernels::ThreadPool* pool = bench.pool;
    if (ranks > 1) {
      const int threads = std::max(1, bench.pool->threads() / ranks);
      pool = pools.emplace_back(std::make_unique<kernels::ThreadPool>(threads)).get();
    }
    adams.push_back(
        std::make_unique<CpuAdam>(pass, parameters / static_cast<std::size_t>(ranks), *pool));
  }
  std::int64_t step = 0;
  std::vector<double> seconds =
      sample(bench.sampling(), [&] { return seconds_together(adams, ++step); });
  for (const auto& adam : adams) adam->require_finite();
  return seconds;
}

}  // namespace elixir::measure
