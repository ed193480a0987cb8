// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What whoever trains chooses about a step, and the words for it in documents and flags.

#include <cstdint>
#include <string_view>

#include "core/name_table.h"

namespace elixir::program {

enum class Optimizer : std::uint8_t { kAdamW, kAdam, kSgd, kNone };
inline constexpr NameTable<Optimizer, 4> kOptimizers{{{Optimizer::kAdamW, "adamw"},
                                                      {Optimizer::kAdam, "adam"},
                                                      {Optimizer::kSgd, "sgd"},
                                                      {Optimizer::kNone, "none"}}};
[[nodiscard]] constexpr std::string_view name_of(Optimizer optimizer) {
  return kOptimizers.name_of(optimizer);
}

}  // namespace elixir::program
