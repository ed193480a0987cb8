// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Instruction sets that the CPU kernels are built for; the bits are the same on each.

#include <cstdint>
#include <vector>

namespace elixir::kernels {

enum class Isa : std::uint8_t { kScalar, kAvx2, kAvx512 };
/// Best level of this CPU, or what ELIXIR_ISA (scalar, avx2, avx512) asks for and the CPU has.
[[nodiscard]] Isa best_isa();
/// All levels up to best_isa(), the plainest first.
[[nodiscard]] std::vector<Isa> available_isas();
[[nodiscard]] const char* name_of(Isa isa);

}  // namespace elixir::kernels
