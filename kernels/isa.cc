// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/isa.h"

#include <cpuid.h>

#include <cstdlib>
#include <string_view>

#include "kernels/kernel_table.h"

namespace elixir::kernels {
namespace {

// __builtin_cpu_supports of clang 14 does not know this name.
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

std::vector<Isa> available_isas() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= best_isa()) found.push_back(isa);
  }
  return found;
}

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kScalar:
      break;
  }
  return "scalar";
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

}  // namespace elixir::kernels
