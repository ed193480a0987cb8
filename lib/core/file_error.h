// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Errors about a file as a whole or a byte of it. JSON documents have their own (`json.h`), which
// know pointer and line.

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"

namespace elixir {

struct FileErrorDetails {
  std::optional<long long> byte_offset;
  std::vector<std::string> notes;  ///< facts
  std::vector<std::string> help;   ///< what would be right, or what to do
};

[[nodiscard]] Error file_error(ErrorCode code,
                               const std::string& path,
                               std::string message,
                               FileErrorDetails details = {});

/// Throws it.
[[noreturn]] void fail_in_file(ErrorCode code,
                               const std::string& path,
                               std::string message,
                               std::vector<std::string> help = {});

}  // namespace elixir
