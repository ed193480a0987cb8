// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Finds which inputs of a program are labels, and whether the model shifts them by one token. A
// language model learns to predict the next token, so labels must be shifted exactly once, by the
// model or by the data. Without a shift, the model learns to copy its input. With two shifts, it
// learns the token after the next.

#include <cstddef>
#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::train {

/// The labels that a token stream provides: the same tokens as the other inputs, or each next
/// token.
enum class Labels { kSame, kNext };

struct LabelUse {
  /// Positions in Program::inputs: targets of a cross-entropy that no embedding looks up, and
  /// inputs named `labels` or `targets`.
  std::vector<std::size_t> labels;
  /// Whether some input is the target of a cross-entropy.
  bool has_class_loss = false;
  /// The model shifts the labels: it reads the target from a later element than the first, but not
  /// the values it compares it with.
  bool model_shifts = false;
  /// The model does not shift the labels: they reach the loss unchanged and whole, tokens reach an
  /// embedding in the same way, and no call between that embedding and the loss moves a position.
  /// If the labels equal the tokens, the model then learns to repeat its input. False when some
  /// call is unknown.
  bool unshifted = false;
};
[[nodiscard]] LabelUse label_use(const program::Program& program);
/// Whether a name ends as those of labels do: "labels", "label", "targets", "target".
[[nodiscard]] bool is_called_label(const std::string& name);

}  // namespace elixir::train
