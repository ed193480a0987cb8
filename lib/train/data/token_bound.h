// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which values a model can take in an input: those that its embeddings have rows for, and its
// losses classes. A call bounds only the elements that reach it with the value that the data gives
// them. What the model changes before it looks it up may have any value.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::train {

struct TokenBound {
  std::int64_t limit = 0;               ///< values must be in [0, limit)
  std::string reason;                   ///< "parameter `wte.weight` has 256 rows"
  std::optional<std::int64_t> ignored;  ///< a loss target allowed outside the range (ignore_index)
  std::vector<bool> elements;           ///< of a row of the input: those it is about

  [[nodiscard]] bool allows(std::int64_t value) const {
    return (value >= 0 && value < limit) || value == ignored;
  }
};

/// The bounds of input `input` (position in Program::inputs): one for each table of an
/// `aten::embedding` that elements of it index, and for each number of classes of an
/// `aten::nll_loss` that has some of them as targets. Empty when nothing is known.
[[nodiscard]] std::vector<TokenBound> token_bounds(const program::Program& program,
                                                   std::size_t input);

}  // namespace elixir::train
