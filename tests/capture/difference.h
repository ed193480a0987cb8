// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What differs between two captured programs, for people to read.

#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::capture {

/// Everything that the fingerprint covers, as lines a person can read; operators come first.
[[nodiscard]] std::vector<std::string> lines_of(const program::Program& program);

/// The operation after which each storage exists and the last before it is freed, one line each.
[[nodiscard]] std::vector<std::string> lifetime_lines(const program::Program& program);

/// "" when equal, else how many lines differ and the first of them. One call more or less gives all
/// later storages other numbers: such lines count, but are shown only where nothing else differs.
[[nodiscard]] std::string difference(const std::vector<std::string>& meta,
                                     const std::vector<std::string>& real);

}  // namespace elixir::capture
