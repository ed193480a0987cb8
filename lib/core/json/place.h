// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where a value stands in JSON text: pointers of RFC 6901 to offsets and lines. For messages only:
// every question reads the text anew. The text may be broken; every step is bounded by its end.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace elixir {

/// A key as one token of a pointer.
[[nodiscard]] std::string escape_token(std::string_view key);
/// The keys and indices of a pointer.
[[nodiscard]] std::vector<std::string> split_pointer(std::string_view pointer);

/// Offset of the value at `tokens`, or of its key when `occurrence` (of the last token, an object
/// key) is above 1.
[[nodiscard]] std::optional<std::size_t> offset_of(std::string_view text,
                                                   const std::vector<std::string>& tokens,
                                                   int occurrence = 1);
/// From 1.
[[nodiscard]] int line_at(std::string_view text, std::size_t offset);

}  // namespace elixir
