// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Finds the offset and line of a value in JSON text, from its RFC 6901 pointer. Use it only for
// messages, because every call reads the text again. The text may be broken: no call reads past its
// end.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace elixir {

/// Escapes a key, to make one token of a pointer.
[[nodiscard]] std::string escape_token(std::string_view key);
/// The keys and indices of a pointer, unescaped.
[[nodiscard]] std::vector<std::string> split_pointer(std::string_view pointer);

/// The offset of the value at `tokens`. If `occurrence` is above 1, the last token is an object
/// key, and the result is the offset of its `occurrence`-th appearance.
[[nodiscard]] std::optional<std::size_t> offset_of(std::string_view text,
                                                   const std::vector<std::string>& tokens,
                                                   int occurrence = 1);
/// The line of `offset`, counted from 1.
[[nodiscard]] int line_at(std::string_view text, std::size_t offset);

}  // namespace elixir
