// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/host_cpu.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string>
#include <unordered_map>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cpu/Utils.h>

namespace elixir::capture {
namespace {

using program::CpuIsa;

/// An instruction set, its bits in oneDNN (dnnl_cpu_isa_t: a set includes the sets whose bits it
/// has), and the CPU flags that it needs in addition to those of the included sets.
struct Level {
  CpuIsa isa;
  unsigned bits;
  std::array<const char*, 4> flags;
};
constexpr std::array<Level, 11> kLevels = {{
    {CpuIsa::kSse41, 0x1, {"sse4_1"}},
    {CpuIsa::kAvx, 0x3, {"avx"}},
    {CpuIsa::kAvx2, 0x7, {"avx2"}},
    {CpuIsa::kAvx2Vnni, 0xf, {"avx_vnni"}},
    {CpuIsa::kAvx2Vnni2, 0x1f, {"avx_vnni_int8", "avx_ne_convert"}},
    {CpuIsa::kAvx512Core, 0x27, {"avx512_f", "avx512_bw", "avx512_vl", "avx512_dq"}},
    {CpuIsa::kAvx512CoreVnni, 0x67, {"avx512_vnni"}},
    {CpuIsa::kAvx512CoreBf16, 0xe7, {"avx512_bf16"}},
    {CpuIsa::kAvx512CoreFp16, 0x1ef, {"avx512_fp16"}},
    {CpuIsa::kAvx512CoreAmx, 0xfef, {"amx_tile", "amx_int8", "amx_bf16"}},
    {CpuIsa::kAvx512CoreAmxFp16, 0x1fef, {"amx_fp16"}},
}};
constexpr unsigned kAllBits = ~0U;

/// The bits that ONEDNN_MAX_CPU_ISA allows. oneDNN ignores unknown names.
unsigned allowed_bits() {
  const char* text = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (text == nullptr) text = std::getenv("DNNL_MAX_CPU_ISA");
  if (text == nullptr) return kAllBits;
  std::string name = text;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  // Newer names of the same sets, since AVX10.
  if (name == "avx10_1_512") name = "avx512_core_fp16";
  if (name == "avx10_1_512_amx") name = "avx512_core_amx";
  if (name == "avx10_1_512_amx_fp16") name = "avx512_core_amx_fp16";
  const auto limit = program::parse_cpu_isa(name);
  const auto* level = std::find_if(
      kLevels.begin(), kLevels.end(), [&](const Level& each) { return each.isa == limit; });
  return level == kLevels.end() ? kAllBits : level->bits;
}

/// The highest set that CPU and environment allow, searched like oneDNN does.
CpuIsa onednn_isa() {
  const auto flags = at::cpu::get_cpu_capabilities();
  const auto has = [&flags](const char* name) {
    if (name == nullptr) return true;
    const auto found = flags.find(name);
    return found != flags.end() && found->second.isBool() && found->second.toBool();
  };
  const unsigned allowed = allowed_bits();
  CpuIsa highest = CpuIsa::kSse41;
  for (const Level& level : kLevels) {
    if ((level.bits & ~allowed) != 0) continue;
    const bool possible = std::all_of(kLevels.begin(), kLevels.end(), [&](const Level& held) {
      return (held.bits & ~level.bits) != 0 ||
             std::all_of(held.flags.begin(), held.flags.end(), has);
    });
    if (possible) highest = level.isa;
  }
  return highest;
}

bool libtorch_says(const char* question) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(question, "").typed<bool()>().call();
}

CpuIsa ask() {
  const CpuIsa isa = onednn_isa();
  const bool bf16 = libtorch_says("mkldnn::_is_mkldnn_bf16_supported");
  const bool fp16 = libtorch_says("mkldnn::_is_mkldnn_fp16_supported");
  if (program::onednn_computes_in_bf16(isa) == bf16 &&
      program::onednn_computes_in_fp16(isa) == fp16) {
    return isa;
  }
  if (fp16) return CpuIsa::kAvx512CoreFp16;
  return bf16 ? CpuIsa::kAvx512Core : CpuIsa::kAvx2;
}

}  // namespace

CpuIsa host_cpu_isa() {
  static const CpuIsa isa = ask();
  return isa;
}

program::Target resolved(program::Target target) {
  const bool unsaid = target.kind == program::Target::Kind::kCpu && target.isa == CpuIsa::kUnsaid;
  if (unsaid) target.isa = host_cpu_isa();
  return target;
}

}  // namespace elixir::capture
