// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Geometry rules: Meta kernels of our own, for operators for which LibTorch has none in C++ or has
// one that differs from the target's. A rule gets the arguments of one call, all on meta, and
// returns meta results with the sizes, strides and dtypes that the target's kernel gives. Wrong
// shapes are refused with LibTorch's own words (TORCH_CHECK).
//
// To add one: a function in the file of its topic, its line in that file's table, a test that
// compares it with the real kernel.

#include <initializer_list>
#include <optional>
#include <string>
#include <unordered_map>

#include <ATen/core/Tensor.h>

#include "capture/values.h"
#include "program/program.h"

namespace elixir::capture {

using Rule = Values (*)(const program::Target& target, const Values& arguments);
struct NamedRule {
  const char* op;  ///< "aten::where.self"
  Rule rule;
};
using Rules = std::initializer_list<NamedRule>;

/// The rule for an operator of this name and overload, else nullptr.
[[nodiscard]] Rule find_rule(const std::string& op);
/// Names of all operators with a rule, sorted.
[[nodiscard]] std::vector<std::string> ruled_operators();

// One table a topic.
extern const Rules kIndexingRules;
extern const Rules kElementwiseRules;
extern const Rules kNormRules;
extern const Rules kConvolutionRules;
extern const Rules kAttentionRules;
extern const Rules kRecurrentRules;
extern const Rules kReductionRules;

// --- Building results
// ---------------------------------------------------------------------------------------------
[[nodiscard]] inline bool is_cuda(const program::Target& target) {
  return target.kind == program::Target::Kind::kCuda;
}
/// An empty tensor on meta with the dtype of `like` unless another is given.
[[nodiscard]] at::Tensor new_empty(at::IntArrayRef sizes,
                                   const at::Tensor& like,
                                   std::optional<at::ScalarType> dtype = std::nullopt,
                                   at::MemoryFormat format = at::MemoryFormat::Contiguous);
[[nodiscard]] at::Tensor contiguous_like(const at::Tensor& tensor);
/// In the memory format that the tensor suggests.
[[nodiscard]] at::Tensor suggested_like(const at::Tensor& tensor);
/// As `empty_like` does: strides kept where the tensor is dense.
[[nodiscard]] at::Tensor preserved_like(const at::Tensor& tensor,
                                        std::optional<at::ScalarType> dtype = std::nullopt);

}  // namespace elixir::capture
