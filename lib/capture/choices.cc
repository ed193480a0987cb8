// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"  // g++ 12 on LibTorch's reference counts
#endif

#include "capture/choices.h"

#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/ops/_index_put_impl.h>
#include <ATen/ops/_reshape_alias.h>
#include <c10/core/GradMode.h>

namespace elixir::capture {
namespace {

using program::Target;

// `isTensorSubclassLike()` is true for meta tensors; composites and gradient formulas then take
// another, mostly out-of-place variant. These rows undo it, for every target.

std::optional<at::DimVector> stride_of_reshape(const Values& a) {
  const at::Tensor tensor = a[0].toTensor();
  return at::detail::computeStride(
      tensor.sizes(), tensor.strides(), at::infer_size_dv(a[1].toIntVector(), tensor.numel()));
}

/// A reshape of a non-contiguous tensor that can be a view is one by `view` on meta, by
/// `_reshape_alias` on devices.
bool reshape_aliases(const Target&, const Values& a) {
  return !a[0].toTensor().is_contiguous() && stride_of_reshape(a).has_value();
}
Values reshape_alias(const Target&, const Values& a) {
  const at::Tensor tensor = a[0].toTensor();
  const auto shape = at::infer_size_dv(a[1].toIntVector(), tensor.numel());
  return {at::_reshape_alias(tensor, shape, *stride_of_reshape(a))};
}

bool always(const Target&, const Values&) {
  return true;
}

Values add_in_place(const Target&, const Values& a) {
  return {a[0].toTensor().add_(a[1].toTensor(), a[2].toScalar())};
}

/// The engine adds a second gradient into the first one's memory when nobody else holds it; never
/// for subclass-like tensors. References to the tensor now: the engine's buffer, the dispatcher's
/// stack, the arguments.
bool holds_last_reference(const Target&, const Values& a) {
  constexpr std::size_t kReferences = 3;
  const at::Tensor& sum = a[0].toTensor();
  return !c10::GradMode::is_enabled() && sum.is_non_overlapping_and_dense() &&
         sum.use_count() == kReferences && sum.has_storage() && sum.storage().use_count() == 1;
}

/// The gradient of indexing: `index_put` for subclass-like tensors, else in place on fresh zeros.
Values index_put_in_place(const Target&, const Values& a) {
  c10::List<std::optional<at::Tensor>> indices;
  for (const auto& index : optional_tensors(a[1])) indices.push_back(index);
  at::Tensor self = a[0].toTensor();
  return {at::_index_put_impl_(self, indices, a[2].toTensor(), a[3].toBool(), /*unsafe=*/true)};
}

}  // namespace

const Choices kCommonChoices = {
    {nullptr, "aten::reshape", &reshape_aliases, &reshape_alias},
    {kEngine, "aten::add.Tensor", &holds_last_reference, &add_in_place},
    {"aten::linear", "aten::add.Tensor", &always, &add_in_place},
    {"IndexBackward0", "aten::index_put", &always, &index_put_in_place},
    {"aten::_scaled_dot_product_attention_math", "aten::add.Tensor", &always, &add_in_place},
};

std::vector<const Choice*> choices_for(const program::Target& target, const std::string& op) {
  std::vector<const Choice*> rows;
  const Choices& own = target.kind == Target::Kind::kCpu ? kCpuChoices : kCudaChoices;
  for (const Choices* table : {&own, &kCommonChoices}) {
    for (const Choice& row : *table) {
      if (op == row.op) rows.push_back(&row);
    }
  }
  return rows;
}

}  // namespace elixir::capture
