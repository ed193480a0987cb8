// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/cpu_isa.h"

#include <array>

namespace elixir::program {
namespace {

// By value of CpuIsa.
constexpr std::array<std::string_view, 12> kNames = {
    "",
    "sse41",
    "avx",
    "avx2",
    "avx2_vnni",
    "avx2_vnni_2",
    "avx512_core",
    "avx512_core_vnni",
    "avx512_core_bf16",
    "avx512_core_fp16",
    "avx512_core_amx",
    "avx512_core_amx_fp16",
};

}  // namespace

std::string_view name_of(CpuIsa isa) {
  return kNames[static_cast<std::size_t>(isa)];
}

std::optional<CpuIsa> parse_cpu_isa(std::string_view name) {
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<CpuIsa>(i);
  }
  return std::nullopt;
}

std::string cpu_isa_names() {
  std::string names;
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (i > 1) names += ", ";
    names += kNames[i];
  }
  return names;
}

bool onednn_computes_in_bf16(CpuIsa isa) {
  return isa == CpuIsa::kUnsaid || isa >= CpuIsa::kAvx2Vnni2;
}

bool onednn_computes_in_fp16(CpuIsa isa) {
  return isa == CpuIsa::kUnsaid || isa == CpuIsa::kAvx2Vnni2 || isa >= CpuIsa::kAvx512CoreFp16;
}

}  // namespace elixir::program
