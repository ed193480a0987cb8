// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The difference between two captured programs, for people to read.

#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::capture {

/// Everything that the fingerprint covers, as readable lines. Operators come first.
[[nodiscard]] std::vector<std::string> lines_of(const program::Program& program);

/// For each storage, one line with the operation after which it exists and the last operation
/// before it is freed.
[[nodiscard]] std::vector<std::string> lifetime_lines(const program::Program& program);

/// "" when equal, otherwise the number of differing lines and the first of them. One call more or
/// less renumbers all later storages. Lines that differ only by such numbers count, but are shown
/// only if nothing else differs.
[[nodiscard]] std::string difference(const std::vector<std::string>& meta,
                                     const std::vector<std::string>& real);

}  // namespace elixir::capture
