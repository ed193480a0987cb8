// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// UTF-8 as the Unicode standard defines it: no overlong forms, no surrogates. Names of modules and
// paths are unchecked bytes, but most formats refuse malformed text.

#include <cstddef>
#include <string>
#include <string_view>

namespace elixir {

/// Length in bytes of the well-formed sequence at the start of `text` (not empty); 0 when there is
/// none.
[[nodiscard]] std::size_t utf8_sequence_bytes(std::string_view text);

/// `text`, with U+FFFD for every byte outside well-formed sequences.
[[nodiscard]] std::string well_formed_utf8(std::string_view text);

}  // namespace elixir
