// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Checks the code of a TorchScript archive before LibTorch parses it. LibTorch's lexer, parser and
// compiler recurse as deep as the text is nested. The limits are far above what LibTorch's printer
// writes. No LibTorch here, so that a fuzzer can run this code alone.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace elixir::capture {

struct CodeProblem {
  std::string message;
  std::size_t line = 0;  ///< 1-based
};

/// nullopt when the text is fine. Linear in its size.
[[nodiscard]] std::optional<CodeProblem> check_code(std::string_view text);

}  // namespace elixir::capture
