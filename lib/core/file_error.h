// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Errors about a file as a whole or a byte of it. JSON documents have their own (`json.h`), which
// know pointer and line.

#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "core/error.h"

namespace elixir {

/// Of the file as a whole.
template <typename... Values>
requires(sizeof...(Values) > 0) [[nodiscard]] Error
    file_error(ErrorCode code,
               const std::string& path,
               fmt::format_string<Values...> message,
               Values&&... values) {
  return Error(code,
               SourcePos{path, "", std::nullopt, std::nullopt},
               fmt::vformat(message, fmt::make_format_args(values...)));
}
[[nodiscard]] Error file_error(ErrorCode code, const std::string& path, std::string message);

/// kFileUnreadable: `directory` cannot be listed.
[[nodiscard]] Error unreadable_directory(const std::string& directory,
                                         const std::error_code& error);

/// Of the byte at `byte_offset` of the file, from 0.
template <typename... Values>
[[nodiscard]] Error error_at_byte(ErrorCode code,
                                  const std::string& path,
                                  std::optional<long long> byte_offset,
                                  fmt::format_string<Values...> message,
                                  Values&&... values) {
  return Error(code,
               SourcePos{path, "", std::nullopt, byte_offset},
               fmt::vformat(message, fmt::make_format_args(values...)));
}

}  // namespace elixir
