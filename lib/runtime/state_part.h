// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a trainer keeps of each parameter, the words for it in checkpoints, and the part of it that
// one rank holds.

#include <cstdint>
#include <string_view>

#include "core/name_table.h"

namespace elixir::runtime {

enum class StatePart : std::uint8_t {
  kParameter,  ///< in its training dtype
  kMaster,     ///< fp32 for callers, in whatever form the plan keeps it; so are both moments
  kMoment1,
  kMoment2,
  kGradient,  ///< the last step's sum over micro-batches; not restored
};
inline constexpr NameTable<StatePart, 5> kStateParts{{{StatePart::kParameter, "parameter"},
                                                      {StatePart::kMaster, "master"},
                                                      {StatePart::kMoment1, "moment1"},
                                                      {StatePart::kMoment2, "moment2"},
                                                      {StatePart::kGradient, "gradient"}}};
[[nodiscard]] constexpr std::string_view name_of(StatePart part) {
  return kStateParts.name_of(part);
}

/// The elements of a tensor that a rank holds, in the order of memory.
struct HeldElements {
  std::int64_t first = 0, count = 0;
  bool operator==(const HeldElements&) const = default;
};

}  // namespace elixir::runtime
