// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"  // g++ 12 on LibTorch's reference counts
#endif

#include "capture/decompositions/decompositions.h"

#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/ops/_index_put_impl.h>
#include <ATen/ops/_reshape_alias.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "capture/record/session.h"

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

/// Gradient formulas write into their own temporaries, never into what forward made.
bool first_is_made_in_backward(const Target&, const Values& a) {
  const Session* session = Session::current();
  return !c10::GradMode::is_enabled() && session != nullptr &&
         session->made_in_backward(a[0].toTensor());
}
Values sub_in_place(const Target&, const Values& a) {
  return {a[0].toTensor().sub_(a[1].toTensor(), a[2].toScalar())};
}
Values mul_in_place(const Target&, const Values& a) {
  return {a[0].toTensor().mul_(a[1].toTensor())};
}

Values logical_and_in_place(const Target&, const Values& a) {
  return {a[0].toTensor().logical_and_(a[1].toTensor())};
}
Values index_add_in_place(const Target&, const Values& a) {
  return {
      a[0].toTensor().index_add_(a[1].toInt(), a[2].toTensor(), a[3].toTensor(), a[4].toScalar())};
}

Values scatter_in_place(const Target&, const Values& a) {
  return {a[0].toTensor().scatter_(a[1].toInt(), a[2].toTensor(), a[3].toTensor())};
}

Values masked_fill_in_place(const Target&, const Values& a) {
  return {a[0].toTensor().masked_fill_(a[1].toTensor(), a[2].toScalar())};
}

Values index_fill_in_place(const Target&, const Values& a) {
  return {a[0].toTensor().index_fill_(a[1].toInt(), a[2].toTensor(), a[3].toTensor())};
}
Values scatter_add_in_place(const Target&, const Values& a) {
  return {a[0].toTensor().scatter_add_(a[1].toInt(), a[2].toTensor(), a[3].toTensor())};
}

Values put_in_place(const Target&, const Values& a) {
  return {a[0].toTensor().put_(a[1].toTensor(), a[2].toTensor(), a[3].toBool())};
}

/// Devices scatter ones where meta compares with all classes; the CPU's checks of the values are
/// not part of the program.
bool knows_classes(const Target&, const Values& a) {
  return a[1].toInt() > 0 && a[0].toTensor().numel() > 0;
}
Values scatter_ones(const Target&, const Values& a) {
  const at::Tensor self = a[0].toTensor();
  TORCH_CHECK(self.scalar_type() == at::kLong,
              "one_hot is only applicable to index tensor of type LongTensor.");
  Sizes sizes = self.sizes().vec();
  sizes.push_back(a[1].toInt());
  at::Tensor ones = at::zeros(sizes, self.options());
  return {ones.scatter_(-1, self.unsqueeze(-1), 1)};
}

}  // namespace

bool always(const Target&, const Values&) {
  return true;
}

const Choices kCommonChoices = {
    {nullptr, "aten::embedding", &refuses_sparse_gradient, nullptr},
    {nullptr, "aten::embedding_bag", &refuses_sparse_gradient_of_bag, nullptr},
    {nullptr, "aten::embedding_bag.padding_idx", &refuses_sparse_gradient_of_bag, nullptr},
    {nullptr, "aten::gather", &refuses_sparse_gradient_of_gather, nullptr},
    {nullptr, "aten::reshape", &reshape_aliases, &reshape_alias},
    {nullptr, "aten::ctc_loss.IntList", &divides_by_lengths, &divide_by_constant_lengths},
    {nullptr, "aten::one_hot", &knows_classes, &scatter_ones},
    {kEngine, "aten::add.Tensor", &holds_last_reference, &add_in_place},
    {"aten::linear", "aten::add.Tensor", &always, &add_in_place},
    {"BinaryCrossEntropyWithLogitsBackward0",
     "aten::sub.Tensor",
     &first_is_made_in_backward,
     &sub_in_place},
    {"BinaryCrossEntropyWithLogitsBackward0",
     "aten::mul.Tensor",
     &first_is_made_in_backward,
     &mul_in_place},
    {"Atan2Backward0",
     "aten::masked_fill.Scalar",
     &first_is_made_in_backward,
     &masked_fill_in_place},
    {"ClampBackward0", "aten::logical_and", &first_is_made_in_backward, &logical_and_in_place},
    {"ClampBackward1", "aten::logical_and", &first_is_made_in_backward, &logical_and_in_place},
    // The largest, smallest or middle value of a whole tensor; only where no value is read for it.
    {"MaxBackward1", "aten::logical_and", &first_is_made_in_backward, &logical_and_in_place},
    {"MinBackward1", "aten::logical_and", &first_is_made_in_backward, &logical_and_in_place},
    {"MedianBackward0", "aten::logical_and", &first_is_made_in_backward, &logical_and_in_place},
    {"NanmedianBackward0", "aten::logical_and", &first_is_made_in_backward, &logical_and_in_place},
    {"TakeBackward0", "aten::put", &first_is_made_in_backward, &put_in_place},
    {"aten::cummaxmin_backward", "aten::scatter_add", &always, &scatter_add_in_place},
    {"aten::gather_backward", "aten::scatter_add", &always, &scatter_add_in_place},
    {"aten::trace_backward", "aten::index_fill.int_Tensor", &always, &index_fill_in_place},
    {"aten::value_selecting_reduction_backward", "aten::scatter.src", &always, &scatter_in_place},
    {"aten::index_select_backward", "aten::index_add", &always, &index_add_in_place},
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
