// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/file_error.h"

#include <utility>

namespace elixir {

Error file_error(ErrorCode code, const std::string& path, std::string message) {
  return Error(code, SourcePos{path, "", std::nullopt, std::nullopt}, std::move(message));
}

Error unreadable_directory(const std::string& directory, const std::error_code& error) {
  return file_error(ErrorCode::kFileUnreadable,
                    directory,
                    "cannot read directory `{}`: {}",
                    directory,
                    error.message());
}

}  // namespace elixir
