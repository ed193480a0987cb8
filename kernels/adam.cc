// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/adam.h"

#include <cpuid.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "kernels/kernel_table.h"
#include "kernels/thread_pool.h"

namespace elixir::kernels {
namespace {

// A whole number of cache lines of every array, and enough work to be worth waking a thread for.
constexpr std::size_t kAdamGrainElements = 8192;

std::size_t bytes_of(Element type) {
  return type == Element::kFloat32 ? 4 : 2;
}

// clang 14 does not know the name in __builtin_cpu_supports.
bool has_f16c() {
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool cpu_has(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
             has_f16c();
    case Isa::kAvx512:
      return cpu_has(Isa::kAvx2) && __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
             __builtin_cpu_supports("avx512vl") != 0;
  }
  return false;
}

Isa choose_isa() {
  const char* asked = std::getenv("ELIXIR_ISA");
  const std::string_view name = asked == nullptr ? "" : asked;
  if (name == "scalar") return Isa::kScalar;
  if (name == "avx2" && cpu_has(Isa::kAvx2)) return Isa::kAvx2;
  if (cpu_has(Isa::kAvx512)) return Isa::kAvx512;
  return cpu_has(Isa::kAvx2) ? Isa::kAvx2 : Isa::kScalar;
}

}  // namespace

Isa best_isa() {
  static const Isa isa = choose_isa();
  return isa;
}

const KernelTable& kernel_table(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return kAvx512Kernels;
    case Isa::kAvx2:
      return kAvx2Kernels;
    case Isa::kScalar:
      break;
  }
  return kScalarKernels;
}

AdamScalars make_adam_scalars(const AdamHyper& hyper,
                              std::int64_t step,
                              int micro_batches,
                              float clip) {
  const double t = static_cast<double>(step);
  const double bias1 = 1.0 - std::pow(hyper.beta1, t);
  const double bias2 = 1.0 - std::pow(hyper.beta2, t);
  return {
      static_cast<float>(hyper.beta1),
      static_cast<float>(1.0 - hyper.beta1),
      static_cast<float>(hyper.beta2),
      static_cast<float>(1.0 - hyper.beta2),
      static_cast<float>(1.0 / std::sqrt(bias2)),
      static_cast<float>(hyper.eps),
      static_cast<float>(1.0 - hyper.lr * hyper.weight_decay),
      static_cast<float>(-hyper.lr / bias1),
      static_cast<float>(micro_batches),
      clip,
  };
}

void adam_cpu(const AdamArrays& arrays, const AdamScalars& scalars, Isa isa) {
  kernel_table(isa).adam(arrays, scalars);
}

void adam_cpu(const AdamArrays& arrays, const AdamScalars& scalars, Isa isa, ThreadPool& pool) {
  const KernelTable& table = kernel_table(isa);
  pool.parallel_for(arrays.n, kAdamGrainElements, [&](std::size_t begin, std::size_t end) {
    AdamArrays part = arrays;
    part.master += begin;
    part.moment1 += begin;
    part.moment2 += begin;
    part.gradient =
        static_cast<const char*>(arrays.gradient) + begin * bytes_of(arrays.gradient_type);
    if (arrays.parameter != nullptr) {
      part.parameter =
          static_cast<char*>(arrays.parameter) + begin * bytes_of(arrays.parameter_type);
    }
    part.n = end - begin;
    table.adam(part, scalars);
  });
}

}  // namespace elixir::kernels
