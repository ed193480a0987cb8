// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Instruction sets of x86-64 CPUs, as oneDNN tells them apart and names them: LibTorch asks oneDNN
// which dtypes it computes in, and what a CPU dispatches follows from the answers. Which one this
// machine has is asked in capture/host_cpu.h; here nothing depends on the machine.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace elixir::program {

/// Ascending in oneDNN's order of preference. kUnsaid: documents before the target named it.
enum class CpuIsa : std::uint8_t {
  kUnsaid,
  kSse41,
  kAvx,
  kAvx2,
  kAvx2Vnni,
  kAvx2Vnni2,
  kAvx512Core,
  kAvx512CoreVnni,
  kAvx512CoreBf16,
  kAvx512CoreFp16,
  kAvx512CoreAmx,
  kAvx512CoreAmxFp16,
};

/// "avx512_core_bf16"; "" for kUnsaid.
[[nodiscard]] std::string_view name_of(CpuIsa isa);
/// nullopt for a name that is none; "" is none either.
[[nodiscard]] std::optional<CpuIsa> parse_cpu_isa(std::string_view name);
/// "sse41, avx, avx2, …": for messages.
[[nodiscard]] std::string cpu_isa_names();

/// Whether oneDNN computes in bf16, in fp16 on it (LibTorch's mkldnn_bf16_device_check and
/// mkldnn_fp16_device_check). Documents that do not say were made where it does.
[[nodiscard]] bool onednn_computes_in_bf16(CpuIsa isa);
[[nodiscard]] bool onednn_computes_in_fp16(CpuIsa isa);

}  // namespace elixir::program
