// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/data/token_entropy.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace elixir::train {
namespace {

constexpr double kImplausibleShare = 0.1;
/// If the next token is almost certain, no loss is implausible.
constexpr double kLeastEntropy = 0.5;
/// No vocabulary has a tenth of its entropy above this (2^32 tokens have 22 nats).
constexpr double kNeverImplausible = 2.3;

}  // namespace

double next_token_entropy(const std::vector<std::vector<std::uint32_t>>& pieces) {
  std::unordered_map<std::uint64_t, std::int64_t> pairs;
  std::unordered_map<std::uint32_t, std::int64_t> firsts;
  std::int64_t total = 0;
  for (const std::vector<std::uint32_t>& piece : pieces) {
    for (std::size_t i = 1; i < piece.size(); ++i) {
      ++pairs[std::uint64_t{piece[i - 1]} << 32 | piece[i]];
      ++firsts[piece[i - 1]];
      ++total;
    }
  }
  if (total == 0) return 0;
  // H(a, b) - H(a).
  const auto weighted = [](const auto& counts) {
    double sum = 0;
    for (const auto& each : counts) {
      const auto count = static_cast<double>(each.second);
      sum += count * std::log(count);
    }
    return sum;
  };
  return (weighted(firsts) - weighted(pairs)) / static_cast<double>(total);
}

LossWatch::LossWatch(std::function<double()> entropy,
                     std::int64_t data_tokens,
                     std::int64_t step_tokens)
    : entropy_(std::move(entropy)), data_tokens_(data_tokens), step_tokens_(step_tokens) {}

std::optional<std::string> LossWatch::training(std::int64_t step, double loss) {
  if (step > data_tokens_ / std::max<std::int64_t>(step_tokens_, 1)) return std::nullopt;
  return judge("loss", loss);
}

std::optional<std::string> LossWatch::held_out(double loss) {
  return judge("held-out loss", loss);
}

std::optional<std::string> LossWatch::judge(const char* what, double loss) {
  if (told_ || !(loss < kNeverImplausible)) return std::nullopt;
  if (!counted_) counted_ = entropy_();
  if (*counted_ < kLeastEntropy || loss > kImplausibleShare * *counted_) return std::nullopt;
  told_ = true;
  return fmt::format(
      "a {} of {:.4f} is implausibly low: counting pairs, the next token of this data has {:.2f} "
      "nats, given the one before",
      what,
      loss,
      *counted_);
}

}  // namespace elixir::train
