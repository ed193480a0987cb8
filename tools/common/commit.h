// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The commit that the tools were built from.

namespace elixir::tools {

/// "1a2b3c4d5e6f", with "-dirty" when files were changed. "unknown" outside a git checkout.
[[nodiscard]] const char* commit();

}  // namespace elixir::tools
