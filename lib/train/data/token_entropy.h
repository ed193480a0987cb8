// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Warns about losses that are too low to be true. The best possible loss is unknown, but the counts
// of token pairs give the uncertainty of the next token given the previous one. Good language
// models of text reach a fifth of it. A loss below a tenth of it, before the run has seen all data
// once, in practice means that the answer was among the inputs.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace elixir::train {

/// Entropy in nats of a token given the previous one, counted over neighbours within each piece.
/// With few tokens the estimate is too low, never too high.
[[nodiscard]] double next_token_entropy(const std::vector<std::vector<std::uint32_t>>& pieces);

/// Checks the losses of a run and warns at most once.
class LossWatch {
 public:
  /// Calls `entropy` only when a loss is low, because counting takes time.
  LossWatch(std::function<double()> entropy, std::int64_t data_tokens, std::int64_t step_tokens);
  /// Why the loss of `step` is implausibly low; nullopt when it is plausible. Always nullopt once
  /// the run has drawn as many tokens as the data has, because it may have memorised them.
  [[nodiscard]] std::optional<std::string> training(std::int64_t step, double loss);
  /// Same for a held-out loss, at any time.
  [[nodiscard]] std::optional<std::string> held_out(double loss);

 private:
  [[nodiscard]] std::optional<std::string> judge(const char* what, double loss);
  std::function<double()> entropy_;
  std::optional<double> counted_;
  std::int64_t data_tokens_, step_tokens_;
  bool told_ = false;
};

}  // namespace elixir::train
