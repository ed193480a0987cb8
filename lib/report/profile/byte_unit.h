// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One unit for all byte figures of a report, so that they are easy to compare.

#include <cstdint>
#include <string>
#include <string_view>

namespace elixir::report {

struct ByteUnit {
  std::string_view name;   ///< "MiB"
  std::int64_t bytes = 1;  ///< bytes per unit
  int digits = 0;          ///< after the decimal point
};

/// KiB below 10 MiB, MiB below 10 GiB, GiB from there on.
[[nodiscard]] ByteUnit unit_for(std::int64_t largest_bytes);

/// The figure without its unit: "1,234.5".
[[nodiscard]] std::string in_unit(std::int64_t bytes, const ByteUnit& unit);

}  // namespace elixir::report
