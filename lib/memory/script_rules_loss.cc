// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// ATen/native/Loss.cpp: losses that LibTorch composes below autograd.
#include <cstdint>

#include "memory/script_rules.h"

namespace elixir::memory {
namespace {

/// log(sigmoid(input)), weighted by the positive class if it has weights; the losses; their
/// reduction. Unreduced losses are the result.
void binary_cross_entropy_with_logits(ScriptBuilder& script) {
  constexpr std::size_t kPositiveWeight = 3;
  constexpr std::size_t kReduction = 4;
  constexpr std::int64_t kNone = 0;
  constexpr std::int64_t kMean = 1;
  const auto* input = script.tensor(0);
  const auto* target = script.tensor(1);
  if (input == nullptr || target == nullptr) return;
  const bool reduces = script.integer(kReduction, kMean) != kNone;
  const int log_sigmoid = script.temporary(input->bytes());
  if (const auto* weight = script.tensor(kPositiveWeight)) {
    const int less_one = script.temporary(weight->bytes());
    const int weights = script.temporary(target->bytes());
    script.release(less_one);
    script.release(weights);
  }
  const int losses = reduces ? script.temporary(target->bytes()) : -1;
  script.outputs();
  script.release(losses);
  script.release(log_sigmoid);
}

}  // namespace

const std::vector<ScriptRule> kLossScripts = {
    {"aten::binary_cross_entropy_with_logits", &binary_cross_entropy_with_logits},
};

}  // namespace elixir::memory
