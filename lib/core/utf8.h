// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// UTF-8 as the Unicode standard defines it (no overlong forms, no surrogates): names of modules and
// paths are bytes that nobody has checked, and most formats refuse text that is not well-formed.

#include <cstddef>
#include <string>
#include <string_view>

namespace elixir {

/// Bytes of the well-formed sequence that starts `text` (not empty); 0 when there is none.
[[nodiscard]] std::size_t utf8_sequence_bytes(std::string_view text);

/// `text` with every byte outside well-formed sequences replaced by U+FFFD.
[[nodiscard]] std::string well_formed_utf8(std::string_view text);

}  // namespace elixir
