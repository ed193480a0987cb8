// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/geometry.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace elixir::capture {
namespace {

const std::unordered_map<std::string, Rule>& all_rules() {
  static const std::unordered_map<std::string, Rule> rules = [] {
    std::unordered_map<std::string, Rule> all;
    for (const Rules* topic : {&kIndexingRules,
                               &kElementwiseRules,
                               &kNormRules,
                               &kConvolutionRules,
                               &kAttentionRules,
                               &kRecurrentRules,
                               &kReductionRules}) {
      for (const NamedRule& rule : *topic) all.emplace(rule.op, rule.rule);
    }
    return all;
  }();
  return rules;
}

}  // namespace

Rule find_rule(const std::string& op) {
  const auto found = all_rules().find(op);
  return found == all_rules().end() ? nullptr : found->second;
}

std::vector<std::string> ruled_operators() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : all_rules()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

at::Tensor new_empty(at::IntArrayRef sizes,
                     const at::Tensor& like,
                     std::optional<at::ScalarType> dtype,
                     at::MemoryFormat format) {
  return at::empty(sizes,
                   at::TensorOptions().device(c10::kMeta).dtype(dtype.value_or(like.scalar_type())),
                   format);
}

at::Tensor contiguous_like(const at::Tensor& tensor) {
  return new_empty(tensor.sizes(), tensor);
}

at::Tensor suggested_like(const at::Tensor& tensor) {
  return new_empty(tensor.sizes(), tensor, std::nullopt, tensor.suggest_memory_format());
}

at::Tensor preserved_like(const at::Tensor& tensor, std::optional<at::ScalarType> dtype) {
  return at::empty_like(tensor,
                        tensor.options().dtype(dtype.value_or(tensor.scalar_type())),
                        at::MemoryFormat::Preserve);
}

}  // namespace elixir::capture
