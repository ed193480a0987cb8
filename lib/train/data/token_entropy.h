// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Is a loss too good to be true? What data allows nobody knows, but counting pairs of tokens says
// how uncertain the next token is given the one before. Good language models of text reach a fifth
// of that; a tenth, and before they saw everything once, means in practice that the answer was
// among the inputs.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace elixir::train {

/// Nats of a token given the one before it, counted over the neighbours within each piece. Of few
/// tokens it comes out too small, never too large.
[[nodiscard]] double next_token_entropy(const std::vector<std::vector<std::uint32_t>>& pieces);

/// Looks at the losses of a run and speaks up at most once.
class LossWatch {
 public:
  /// `entropy` is asked for only when a loss is small at all: counting takes a moment.
  LossWatch(std::function<double()> entropy, std::int64_t data_tokens, std::int64_t step_tokens);
  /// Why the loss of `step` is implausibly low. Once the run has drawn as many tokens as there are
  /// it may know them by heart, and nothing is said.
  [[nodiscard]] std::optional<std::string> training(std::int64_t step, double loss);
  /// Likewise of a held-out loss, at any time.
  [[nodiscard]] std::optional<std::string> held_out(double loss);

 private:
  [[nodiscard]] std::optional<std::string> judge(const char* what, double loss);
  std::function<double()> entropy_;
  std::optional<double> counted_;
  std::int64_t data_tokens_, step_tokens_;
  bool told_ = false;
};

}  // namespace elixir::train
