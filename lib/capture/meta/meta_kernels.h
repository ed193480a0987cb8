// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Geometry rules: our own Meta kernels, for operators for which LibTorch has no Meta kernel in C++,
// or one that differs from the target's kernel. A rule gets the arguments of one call, all on meta,
// and returns meta results with the sizes, strides and dtypes of the target's kernel. Wrong shapes
// are refused with LibTorch's own messages (TORCH_CHECK).
//
// To add one: a function in the file of its topic, its line in that file's table, and a test that
// compares it with the real kernel.

#include <initializer_list>
#include <optional>
#include <string>
#include <unordered_map>

#include <ATen/core/Tensor.h>

#include "capture/record/arguments/call.h"
#include "program/program.h"

namespace elixir::capture {

using Rule = Values (*)(const program::Target& target, const Call& call);
struct NamedRule {
  const char* op;  ///< "aten::where.self"
  Rule rule;
};
using Rules = std::initializer_list<NamedRule>;

/// How to compute the geometry of an operator's results.
struct Geometry {
  Rule rule = nullptr;  ///< nullptr: LibTorch's Meta or composite kernel
  /// The rule is that of the out-of-place form, which has the same argument names. Its result is
  /// written to `self`.
  bool in_place = false;
};

/// The rule for an operator with this name and overload. An in-place operator without a rule uses
/// the rule of its out-of-place form.
[[nodiscard]] Geometry find_geometry(const std::string& op);
/// The results of a call. Refuses in-place calls whose result does not fit into `self`.
[[nodiscard]] Values apply(const Geometry& geometry,
                           const program::Target& target,
                           const Call& call);
/// Names of all operators that have their own rule, sorted.
[[nodiscard]] std::vector<std::string> ruled_operators();

// One table per topic.
extern const Rules kAttentionRules;
extern const Rules kConvolutionRules;
extern const Rules kCudnnRnnRules;
extern const Rules kElementwiseRules;
extern const Rules kEmbeddingBagRules;
extern const Rules kFourierRules;
extern const Rules kIndexingRules;
extern const Rules kLinearAlgebraRules;
extern const Rules kLossRules;
extern const Rules kNormRules;
extern const Rules kPaddingRules;
extern const Rules kPoolingRules;
extern const Rules kQuantizationRules;
extern const Rules kRandomRules;
extern const Rules kRecurrentRules;
extern const Rules kReductionRules;
extern const Rules kSamplingRules;

// --- Building results ----------------------------------------------------------------------------
[[nodiscard]] inline bool is_cuda(const program::Target& target) {
  return target.kind == program::Target::Kind::kCuda;
}
/// An empty meta tensor with the dtype of `like`, unless another dtype is given.
[[nodiscard]] at::Tensor new_empty(at::IntArrayRef sizes,
                                   const at::Tensor& like,
                                   std::optional<at::ScalarType> dtype = std::nullopt,
                                   at::MemoryFormat format = at::MemoryFormat::Contiguous);
[[nodiscard]] at::Tensor contiguous_like(const at::Tensor& tensor);
/// In the memory format that the tensor suggests.
[[nodiscard]] at::Tensor suggested_like(const at::Tensor& tensor);
/// Like `empty_like`: keeps the strides if the tensor is dense.
[[nodiscard]] at::Tensor preserved_like(const at::Tensor& tensor,
                                        std::optional<at::ScalarType> dtype = std::nullopt);
/// Contiguous, in a storage at least as large as that of a tensor like `input`, because LibTorch
/// resized such a tensor.
[[nodiscard]] at::Tensor resized_from(const at::Tensor& input, at::IntArrayRef sizes);
/// The broadcast of the inputs, in the order of dimensions that an elementwise kernel chooses.
[[nodiscard]] at::Tensor iterated(at::ArrayRef<at::Tensor> inputs, at::ScalarType dtype);
/// Floating-point dtypes stay; integers become LibTorch's default floating dtype.
[[nodiscard]] at::ScalarType floating_dtype_of(const at::Tensor& tensor);
/// The sizes after a reduction over `dimensions` (empty: all).
[[nodiscard]] Sizes reduced_sizes(const at::Tensor& tensor, Sizes dimensions, bool keep);

/// The result of `equal` if it does not depend on values: true for the same tensor, false for
/// different sizes, otherwise nullopt.
[[nodiscard]] std::optional<bool> known_equal(const at::Tensor& first, const at::Tensor& second);

// --- Rules that several topics share -------------------------------------------------------------
/// Returns `self` itself. For operators that write to it.
[[nodiscard]] Values returns_self(const program::Target& target, const Call& call);
/// One result with the sizes and dtype of `self`: contiguous, with its strides, or in its suggested
/// memory format.
[[nodiscard]] Values contiguous_as_self(const program::Target& target, const Call& call);
[[nodiscard]] Values preserved_as_self(const program::Target& target, const Call& call);
[[nodiscard]] Values suggested_as_self(const program::Target& target, const Call& call);

}  // namespace elixir::capture
