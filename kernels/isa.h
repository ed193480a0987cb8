// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Instruction sets of the CPU kernels. All give the same bits.

#include <cstdint>
#include <vector>

namespace elixir::kernels {

enum class Isa : std::uint8_t { kScalar, kAvx2, kAvx512 };
/// The best level of this CPU, or the level that ELIXIR_ISA (scalar, avx2, avx512) names, if the
/// CPU has it.
[[nodiscard]] Isa best_isa();
/// All levels up to best_isa(), from scalar up.
[[nodiscard]] std::vector<Isa> available_isas();
[[nodiscard]] const char* name_of(Isa isa);

}  // namespace elixir::kernels
