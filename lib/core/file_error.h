// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Errors about a whole file, or about one byte of it. For errors in JSON documents use `json.h`,
// which adds the JSON pointer and the line.

#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "core/error.h"

namespace elixir {

/// An error about the whole file.
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

/// An error at byte `byte_offset` of the file, counted from 0.
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
