// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The section of docs/operators.md about scratch memory: which operators are exact, and why.

#include <string>

namespace elixir::capture {

[[nodiscard]] std::string scratch_section();

}  // namespace elixir::capture
