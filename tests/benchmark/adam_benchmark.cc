// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// AdamW on this machine's CPU, and GPU if there is one, beside plain copies: rates, bytes per
// second and the fraction of the copy's bandwidth. Usage: adam_benchmark [MI_PARAMETERS] [THREADS]
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "kernels/adam.h"
#include "kernels/copy.h"
#include "kernels/gradient.h"
#include "measure/adam_gpu.h"
#include "measure/gpu_probe.h"
#include "measure/host_memory.h"
#include "measure/sampling.h"

namespace {

using elixir::kernels::Element;
using elixir::kernels::Isa;
using elixir::kernels::ThreadPool;
using elixir::measure::HostMemory;

constexpr double kBytesPerParameter = 28;
const elixir::measure::Sampling kSampling{2, 7, 30, 2.0};

double median(const std::vector<double>& seconds) {
  return elixir::measure::quantile(seconds, 0.5);
}

void print(const std::string& name, double n, double seconds, double copy_bytes_per_s) {
  const double bytes_per_s = kBytesPerParameter * n / seconds;
  fmt::print("{:<34} {:8.3f} Gparam/s {:8.1f} GB/s {:5.1f} % of copy\n",
             name,
             n / seconds * 1e-9,
             bytes_per_s * 1e-9,
             100 * bytes_per_s / copy_bytes_per_s);
}

void run_cpu(std::size_t n, ThreadPool& pool) {
  const HostMemory from(n * 4, pool, 1), to(n * 4, pool, 2);
  const double copy = 8.0 * static_cast<double>(n) / median(elixir::measure::sample(kSampling, [&] {
                        return elixir::measure::seconds_of([&] {
                          elixir::kernels::copy_cpu(to.data(), from.data(), n * 4, pool);
                        });
                      }));
  fmt::print("CPU, {} threads, {} Mi parameters; copy {:.1f} GB/s read + written\n",
             pool.threads(),
             n >> 20,
             copy * 1e-9);
  const HostMemory master(n * 4, pool), moment1(n * 4, pool), moment2(n * 4, pool),
      gradient(n * 4, pool), parameter(n * 2, pool);
  elixir::measure::fill_random(master.as<float>(), n, pool);
  for (const auto& [isa, isa_name] : {std::pair{Isa::kScalar, "scalar"},
                                      std::pair{Isa::kAvx2, "avx2"},
                                      std::pair{Isa::kAvx512, "avx512"}}) {
    if (isa > elixir::kernels::best_isa()) continue;
    for (const auto& [type, type_name] : {std::pair{Element::kBFloat16, "bf16"},
                                          std::pair{Element::kFloat16, "fp16"},
                                          std::pair{Element::kFloat32, "fp32"}}) {
      const bool narrow = type != Element::kFloat32;
      elixir::kernels::convert_cpu(gradient.data(), type, master.as<float>(), n, pool);
      const elixir::kernels::AdamArrays arrays = {master.as<float>(),
                                                  moment1.as<float>(),
                                                  moment2.as<float>(),
                                                  gradient.data(),
                                                  type,
                                                  narrow ? parameter.data() : nullptr,
                                                  type,
                                                  n};
      const auto scalars = elixir::kernels::make_adam_scalars({}, 10, 1, 1.0F);
      // clang 14 captures no structured binding, not even to copy it.
      const elixir::kernels::Isa chosen = isa;
      const std::vector<double> seconds = elixir::measure::sample(kSampling, [&] {
        return elixir::measure::seconds_of(
            [&] { elixir::kernels::adam_cpu(arrays, scalars, chosen, pool); });
      });
      print(fmt::format("  {} {}", isa_name, type_name),
            static_cast<double>(n),
            median(seconds),
            copy);
    }
  }
}

void run_gpu(std::size_t n) {
  const std::size_t bytes = std::size_t{1} << 30;
  const double copy =
      2.0 * static_cast<double>(bytes) /
      median(elixir::measure::gpu_copy_seconds(elixir::measure::Direction::kDeviceToDevice,
                                               elixir::measure::HostPages::kPinned,
                                               bytes,
                                               8,
                                               kSampling));
  fmt::print("GPU, {} Mi parameters; copy {:.1f} GB/s read + written\n", n >> 20, copy * 1e-9);
  for (const auto& [type, type_name] : {std::pair{Element::kBFloat16, "bf16"},
                                        std::pair{Element::kFloat16, "fp16"},
                                        std::pair{Element::kFloat32, "fp32"}}) {
    print(fmt::format("  cuda {}", type_name),
          static_cast<double>(n),
          median(elixir::measure::gpu_adam_seconds(type, n, kSampling)),
          copy);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long mi = argc > 1 ? std::atol(argv[1]) : 64;
  const long threads = argc > 2 ? std::atol(argv[2]) : std::thread::hardware_concurrency();
  if (mi < 1 || threads < 1) {
    fmt::print(stderr, "usage: adam_benchmark [MI_PARAMETERS] [THREADS]\n");
    return 2;
  }
  ThreadPool pool(static_cast<int>(threads));
  run_cpu(static_cast<std::size_t>(mi) << 20, pool);
  if (const auto reason = elixir::measure::gpu_unavailable()) {
    fmt::print("GPU: waived, because {}\n", *reason);
    return 0;
  }
  run_gpu(std::size_t{512} << 20);
  return 0;
}
