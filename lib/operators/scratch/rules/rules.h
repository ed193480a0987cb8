// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The rules by operator name, one table per topic. Each rule follows the order of allocations in
// LibTorch 2.11's CUDA sources (named at the rule). Recorded allocations check the rules in
// tests/memory/recorded/recorded_programs_test.cc.

#include <string_view>
#include <vector>

#include "operators/scratch/script_builder.h"

namespace elixir::operators {

struct ScriptRule {
  std::string_view name;  ///< "aten::sum"; every overload
  void (*write)(ScriptBuilder& script);
  ScriptRuleKind kind = ScriptRuleKind::kOfSource;
};

extern const std::vector<ScriptRule> kAttentionScripts;
extern const std::vector<ScriptRule> kConversionScripts;
extern const std::vector<ScriptRule> kEmbeddingScripts;
extern const std::vector<ScriptRule> kIndexingScripts;
extern const std::vector<ScriptRule> kLossScripts;
extern const std::vector<ScriptRule> kNormScripts;
extern const std::vector<ScriptRule> kPoolingScripts;
extern const std::vector<ScriptRule> kProductScripts;
extern const std::vector<ScriptRule> kRecurrentScripts;
extern const std::vector<ScriptRule> kReductionScripts;

}  // namespace elixir::operators
