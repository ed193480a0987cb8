// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/meta/meta_kernels.h"

#include <algorithm>

#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DefaultDtype.h>

namespace elixir::capture {
namespace {

const std::unordered_map<std::string, Rule>& all_rules() {
  static const std::unordered_map<std::string, Rule> rules = [] {
    std::unordered_map<std::string, Rule> all;
    for (const Rules* topic : {&kAttentionRules,
                               &kConvolutionRules,
                               &kCudnnRnnRules,
                               &kElementwiseRules,
                               &kEmbeddingBagRules,
                               &kFourierRules,
                               &kIndexingRules,
                               &kLinearAlgebraRules,
                               &kLossRules,
                               &kNormRules,
                               &kPaddingRules,
                               &kPoolingRules,
                               &kQuantizationRules,
                               &kRandomRules,
                               &kRecurrentRules,
                               &kReductionRules,
                               &kSamplingRules}) {
      for (const NamedRule& rule : *topic) all.emplace(rule.op, rule.rule);
    }
    return all;
  }();
  return rules;
}

Rule find_rule(const std::string& op) {
  const auto found = all_rules().find(op);
  return found == all_rules().end() ? nullptr : found->second;
}

/// "aten::relu" for "aten::relu_", "aten::add.Tensor" for "aten::add_.Tensor"; "" for operators
/// that are not in place.
std::string out_of_place_form(const std::string& op) {
  const std::size_t end = std::min(op.find('.'), op.size());
  if (end < 2 || op[end - 1] != '_' || op[end - 2] == '_') return {};
  return std::string(op).erase(end - 1, 1);
}

}  // namespace

Geometry find_geometry(const std::string& op) {
  if (const Rule own = find_rule(op)) return {.rule = own};
  const Rule other = find_rule(out_of_place_form(op));
  return {.rule = other, .in_place = other != nullptr};
}

Values apply(const Geometry& geometry, const program::Target& target, const Call& call) {
  Values results = geometry.rule(target, call);
  if (!geometry.in_place) return results;
  const at::Tensor self = call.tensor("self");
  const at::Tensor result = results[0].toTensor();
  TORCH_CHECK(result.sizes() == self.sizes(),
              "output with shape ",
              self.sizes(),
              " doesn't match the broadcast shape ",
              result.sizes());
  TORCH_CHECK(c10::canCast(result.scalar_type(), self.scalar_type()),
              "result type ",
              result.scalar_type(),
              " can't be cast to the desired output type ",
              self.scalar_type());
  return {self};
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

at::Tensor resized_from(const at::Tensor& input, at::IntArrayRef sizes) {
  const std::int64_t wanted = c10::multiply_integers(sizes);
  return new_empty({std::max(input.numel(), wanted)}, input).narrow(0, 0, wanted).view(sizes);
}

at::Tensor iterated(at::ArrayRef<at::Tensor> inputs, at::ScalarType dtype) {
  at::TensorIteratorConfig config;
  config.check_all_same_dtype(false)
      .declare_static_dtype_and_device(dtype, c10::kMeta)
      .add_owned_output(at::Tensor());
  for (const at::Tensor& input : inputs) config.add_owned_const_input(input);
  return config.build().output(0);
}

at::ScalarType floating_dtype_of(const at::Tensor& tensor) {
  return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true)
             ? c10::typeMetaToScalarType(at::get_default_dtype())
             : tensor.scalar_type();
}

Sizes reduced_sizes(const at::Tensor& tensor, Sizes dimensions, bool keep) {
  for (std::int64_t& dimension : dimensions) {
    dimension = at::maybe_wrap_dim(dimension, tensor.dim());
  }
  Sizes sizes;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    const bool gone = dimensions.empty() ||
                      std::find(dimensions.begin(), dimensions.end(), d) != dimensions.end();
    if (!gone) {
      sizes.push_back(tensor.size(d));
    } else if (keep) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

Values returns_self(const program::Target&, const Call& call) {
  return {call.tensor("self")};
}
Values contiguous_as_self(const program::Target&, const Call& call) {
  return {contiguous_like(call.tensor("self"))};
}
Values preserved_as_self(const program::Target&, const Call& call) {
  return {preserved_like(call.tensor("self"))};
}
Values suggested_as_self(const program::Target&, const Call& call) {
  return {suggested_like(call.tensor("self"))};
}

}  // namespace elixir::capture
