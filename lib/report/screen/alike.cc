// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/alike.h"

#include <fmt/format.h>

#include "report/terminal/terminal.h"

namespace elixir::report {

std::string name_of_alike(std::string_view name, int count) {
  return count == 1 ? one_line(name) : fmt::format("{} ({} alike)", one_line(name), count);
}

}  // namespace elixir::report
