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

#include "capture/record/arguments/call.h"
#include "program/program.h"

namespace elixir::capture {

using Rule = Values (*)(const program::Target& target, const Call& call);
struct NamedRule {
  const char* op;  ///< "aten::where.self"
  Rule rule;
};
using Rules = std::initializer_list<NamedRule>;

/// How the geometry of an operator's results is known.
struct Geometry {
  Rule rule = nullptr;  ///< nullptr: LibTorch's Meta or composite kernel says it
  /// The rule is that of the out-of-place form, whose arguments have the same names; its result is
  /// written to `self`.
  bool in_place = false;
};

/// The rule for an operator of this name and overload, or for an in-place operator without one that
/// of its out-of-place form.
[[nodiscard]] Geometry find_geometry(const std::string& op);
/// Results of a call. Refuses in-place calls whose result does not fit into `self`.
[[nodiscard]] Values apply(const Geometry& geometry,
                           const program::Target& target,
                           const Call& call);
/// Names of all operators with a rule of their own, sorted.
[[nodiscard]] std::vector<std::string> ruled_operators();

// One table a topic.
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
/// Contiguous, in a storage that is at least as large as that of a tensor like `input`: LibTorch
/// resized such a tensor.
[[nodiscard]] at::Tensor resized_from(const at::Tensor& input, at::IntArrayRef sizes);
/// Broadcast of the inputs, in the order of dimensions that an elementwise kernel chooses.
[[nodiscard]] at::Tensor iterated(at::ArrayRef<at::Tensor> inputs, at::ScalarType dtype);
/// Floating point stays, integers become LibTorch's default floating dtype.
[[nodiscard]] at::ScalarType floating_dtype_of(const at::Tensor& tensor);
/// Sizes after a reduction over `dimensions` (all when there are none).
[[nodiscard]] Sizes reduced_sizes(const at::Tensor& tensor, Sizes dimensions, bool keep);

/// What `equal` says of two tensors where no value is looked at: nothing unless they are one, or
/// differ in size.
[[nodiscard]] std::optional<bool> known_equal(const at::Tensor& first, const at::Tensor& second);

// --- Rules that several topics share -------------------------------------------------------------
/// `self` itself: operators that write to it.
[[nodiscard]] Values returns_self(const program::Target& target, const Call& call);
/// One result with the sizes and dtype of `self`: contiguous, with its strides kept, or in the
/// memory format that it suggests.
[[nodiscard]] Values contiguous_as_self(const program::Target& target, const Call& call);
[[nodiscard]] Values preserved_as_self(const program::Target& target, const Call& call);
[[nodiscard]] Values suggested_as_self(const program::Target& target, const Call& call);

}  // namespace elixir::capture
