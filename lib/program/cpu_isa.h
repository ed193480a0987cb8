// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Instruction sets of x86-64 CPUs, with oneDNN's names and distinctions. They matter because
// LibTorch asks oneDNN which dtypes it computes in, and chooses operators by the answer. Nothing
// here depends on this machine; capture/host_cpu.h finds out which instruction set it has.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace elixir::program {

/// Ascending, in oneDNN's order of preference. kUnsaid: the document was written before targets
/// named the instruction set.
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
/// nullopt for an unknown name, and for "".
[[nodiscard]] std::optional<CpuIsa> parse_cpu_isa(std::string_view name);
/// "sse41, avx, avx2, …", for messages.
[[nodiscard]] std::string cpu_isa_names();

/// Whether oneDNN computes in bf16, or in fp16, on this instruction set (LibTorch's
/// mkldnn_bf16_device_check and mkldnn_fp16_device_check). True for kUnsaid: documents that do not
/// say their instruction set were made on CPUs where oneDNN does.
[[nodiscard]] bool onednn_computes_in_bf16(CpuIsa isa);
[[nodiscard]] bool onednn_computes_in_fp16(CpuIsa isa);

}  // namespace elixir::program
