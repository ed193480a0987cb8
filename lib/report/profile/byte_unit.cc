// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/profile/byte_unit.h"

#include <fmt/format.h>

#include "core/units.h"

namespace elixir::report {

ByteUnit unit_for(std::int64_t largest_bytes) {
  if (largest_bytes < 10_MiB) return {"KiB", 1_KiB, 1};
  if (largest_bytes < 10_GiB) return {"MiB", 1_MiB, 1};
  return {"GiB", 1_GiB, 2};
}

std::string in_unit(std::int64_t bytes, const ByteUnit& unit) {
  std::string text = fmt::format(
      "{:.{}f}", static_cast<double>(bytes) / static_cast<double>(unit.bytes), unit.digits);
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t at = text.find('.'); at != std::string::npos && at > first + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

}  // namespace elixir::report
