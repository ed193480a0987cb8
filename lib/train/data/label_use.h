// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which inputs of a program are labels, and whether the model moves them by one token against the
// others. A language model learns to say the token after each one. Whoever shifts, must do it once:
// without it every position is told its own token and the model learns to copy; twice, and it
// learns the token after the next.

#include <cstddef>
#include <vector>

#include "program/program.h"

namespace elixir::train {

/// What a token stream puts into labels: the tokens of the other inputs, or each one's successor.
enum class Labels { kSame, kNext };

struct LabelUse {
  /// Positions in Program::inputs: targets of a cross-entropy that no embedding looks up, and
  /// inputs named `labels` or `targets`.
  std::vector<std::size_t> labels;
  /// Some input is the target of a cross-entropy.
  bool has_class_loss = false;
  /// The target is read from another than its first element on, and what it is compared with is
  /// not: the model shifts it.
  bool model_shifts = false;
  /// Labels reach the loss as they came in, tokens an embedding likewise, both whole, and no call
  /// between that embedding and the loss moves a position. Labels that equal those tokens then
  /// teach the model to repeat its input. False where a call is not known.
  bool unshifted = false;
};
[[nodiscard]] LabelUse label_use(const program::Program& program);

}  // namespace elixir::train
