// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/file_error.h"

#include <utility>

namespace elixir {

Error file_error(ErrorCode code,
                 const std::string& path,
                 std::string message,
                 FileErrorDetails details) {
  ErrorInfo info;
  info.code = code;
  info.message = std::move(message);
  info.where = SourcePos{path, "", std::nullopt, details.byte_offset};
  info.notes = std::move(details.notes);
  info.help = std::move(details.help);
  return Error(std::move(info));
}

void fail_in_file(ErrorCode code,
                  const std::string& path,
                  std::string message,
                  std::vector<std::string> help) {
  throw file_error(
      code, path, std::move(message), {.byte_offset = {}, .notes = {}, .help = std::move(help)});
}

}  // namespace elixir
