// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Error codes that come from elsewhere, as numbers.

#include <optional>

#include "core/error.h"

namespace elixir {

/// nullopt: no code has this number.
[[nodiscard]] std::optional<ErrorCode> error_code_of(int number);

}  // namespace elixir
