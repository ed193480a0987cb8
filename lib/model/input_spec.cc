// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <charconv>

#include "model/options.h"

namespace elixir::model {

std::optional<InputSpec> InputSpec::parse(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::size_t open = text.find('[');
  if (colon == std::string::npos || colon == 0 || open == std::string::npos || open < colon ||
      text.back() != ']') {
    return std::nullopt;
  }
  InputSpec spec;
  spec.name = text.substr(0, colon);
  const auto dtype = program::dtype_named(text.substr(colon + 1, open - colon - 1));
  if (!dtype) return std::nullopt;
  spec.dtype = *dtype;
  const char* at = text.data() + open + 1;
  const char* const end = text.data() + text.size() - 1;
  while (at != end) {
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0) return std::nullopt;
    spec.sizes.push_back(size);
    at = next;
    if (at == end) break;
    if (*at != ',' || at + 1 == end) return std::nullopt;
    ++at;
  }
  return spec;
}

}  // namespace elixir::model
