// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"  // for g++ 12 in LibTorch's reference counts
#endif

#include "capture/decompositions/decompositions.h"

#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/ops/_index_put_impl.h>
#include <ATen/ops/_reshape_alias.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "capture/record/dispatch/session.h"

namespace elixir::capture {
namespace {

using program::Target;

// `isTensorSubclassLike()` is true for meta tensors. Composites and gradient formulas then use
// another, mostly out-of-place variant. These rows undo that for every target.

std::optional<at::DimVector> stride_of_reshape(const Call& call) {
  const at::Tensor tensor = call.tensor("self");
  return at::detail::computeStride(
      tensor.sizes(), tensor.strides(), at::infer_size_dv(call.integers("shape"), tensor.numel()));
}

/// If a reshape of a non-contiguous tensor can be a view, it uses `view` on meta, but
/// `_reshape_alias` on devices.
bool reshape_aliases(const Target&, const Call& call) {
  return !call.tensor("self").is_contiguous() && stride_of_reshape(call).has_value();
}
Values reshape_alias(const Target&, const Call& call) {
  const at::Tensor tensor = call.tensor("self");
  const auto shape = at::infer_size_dv(call.integers("shape"), tensor.numel());
  return {at::_reshape_alias(tensor, shape, *stride_of_reshape(call))};
}

Values add_in_place(const Target&, const Call& call) {
  return {call.tensor("self").add_(call.tensor("other"), call.scalar("alpha"))};
}

/// The engine adds a second gradient into the memory of the first if nothing else holds it, but
/// never for subclass-like tensors, nor into zeros without memory. The references at this point are
/// the engine's buffer, the dispatcher's stack and the arguments.
bool holds_last_reference(const Target&, const Call& call) {
  constexpr std::size_t kReferences = 3;
  const at::Tensor& sum = call.tensor("self");
  return !c10::GradMode::is_enabled() && !sum._is_zerotensor() &&
         sum.is_non_overlapping_and_dense() && sum.use_count() == kReferences &&
         sum.has_storage() && sum.storage().use_count() == 1;
}

/// The gradient of indexing: `index_put` for subclass-like tensors, else in place on new zeros.
Values index_put_in_place(const Target&, const Call& call) {
  c10::List<std::optional<at::Tensor>> indices;
  for (const auto& index : call.optional_tensors("indices")) indices.push_back(index);
  at::Tensor self = call.tensor("self");
  return {at::_index_put_impl_(
      self, indices, call.tensor("values"), call.flag("accumulate"), /*unsafe=*/true)};
}

/// Gradient formulas write into their own temporaries, never into results of forward.
bool self_is_made_in_backward(const Target&, const Call& call) {
  const Session* session = Session::current();
  return !c10::GradMode::is_enabled() && session != nullptr &&
         session->made_in_backward(call.tensor("self"));
}
Values sub_in_place(const Target&, const Call& call) {
  return {call.tensor("self").sub_(call.tensor("other"), call.scalar("alpha"))};
}
Values mul_in_place(const Target&, const Call& call) {
  return {call.tensor("self").mul_(call.tensor("other"))};
}

Values logical_and_in_place(const Target&, const Call& call) {
  return {call.tensor("self").logical_and_(call.tensor("other"))};
}
Values index_add_in_place(const Target&, const Call& call) {
  return {call.tensor("self").index_add_(
      call.integer("dim"), call.tensor("index"), call.tensor("source"), call.scalar("alpha"))};
}

Values scatter_in_place(const Target&, const Call& call) {
  return {
      call.tensor("self").scatter_(call.integer("dim"), call.tensor("index"), call.tensor("src"))};
}

Values masked_fill_in_place(const Target&, const Call& call) {
  return {call.tensor("self").masked_fill_(call.tensor("mask"), call.scalar("value"))};
}

Values index_fill_in_place(const Target&, const Call& call) {
  return {call.tensor("self").index_fill_(
      call.integer("dim"), call.tensor("index"), call.tensor("value"))};
}
Values scatter_add_in_place(const Target&, const Call& call) {
  return {call.tensor("self").scatter_add_(
      call.integer("dim"), call.tensor("index"), call.tensor("src"))};
}

Values put_in_place(const Target&, const Call& call) {
  return {call.tensor("self").put_(
      call.tensor("index"), call.tensor("source"), call.flag("accumulate"))};
}

/// Devices scatter ones where meta compares with all classes. The CPU's checks of the values are
/// not part of the program.
bool knows_classes(const Target&, const Call& call) {
  return call.integer("num_classes") > 0 && call.tensor("self").numel() > 0;
}
Values scatter_ones(const Target&, const Call& call) {
  const at::Tensor self = call.tensor("self");
  TORCH_CHECK(self.scalar_type() == at::kLong,
              "one_hot is only applicable to index tensor of type LongTensor.");
  Sizes sizes = self.sizes().vec();
  sizes.push_back(call.integer("num_classes"));
  at::Tensor ones = at::zeros(sizes, self.options());
  return {ones.scatter_(-1, self.unsqueeze(-1), 1)};
}

}  // namespace

bool always(const Target&, const Call&) {
  return true;
}

const Decompositions kCommonDecompositions = {
    {nullptr, "aten::embedding", &refuses_sparse_gradient, nullptr},
    {nullptr, "aten::_batch_norm_impl_index", &refuses_statistics_of_one_value, nullptr},
    {nullptr, "aten::embedding_bag", &refuses_sparse_gradient_of_bag, nullptr},
    {nullptr, "aten::embedding_bag.padding_idx", &refuses_sparse_gradient_of_bag, nullptr},
    {nullptr, "aten::gather", &refuses_sparse_gradient_of_gather, nullptr},
    {nullptr, "aten::reshape", &reshape_aliases, &reshape_alias},
    {nullptr, "aten::mm", &refuses_other_dtypes_in_mm, nullptr},
    {nullptr, "aten::bmm", &refuses_other_dtypes_in_bmm, nullptr},
    {nullptr, "aten::mv", &refuses_other_dtypes_in_mv, nullptr},
    {nullptr, "aten::nll_loss_forward", &refuses_other_dtypes_in_nll_loss, nullptr},
    {nullptr, "aten::nll_loss2d_forward", &refuses_other_dtypes_in_nll_loss2d, nullptr},
    {nullptr, "aten::_pack_padded_sequence", &refuses_packing_by_lengths, nullptr},
    {nullptr, "aten::ctc_loss.Tensor", &refuses_lengths_in_tensors, nullptr},
    {nullptr, "aten::ctc_loss.IntList", &divides_by_lengths, &divide_by_constant_lengths},
    {nullptr, "aten::one_hot", &knows_classes, &scatter_ones},
    {kEngine, "aten::add.Tensor", &holds_last_reference, &add_in_place},
    {"aten::linear", "aten::add.Tensor", &always, &add_in_place},
    {"BinaryCrossEntropyWithLogitsBackward0",
     "aten::sub.Tensor",
     &self_is_made_in_backward,
     &sub_in_place},
    {"BinaryCrossEntropyWithLogitsBackward0",
     "aten::mul.Tensor",
     &self_is_made_in_backward,
     &mul_in_place},
    {"Atan2Backward0",
     "aten::masked_fill.Scalar",
     &self_is_made_in_backward,
     &masked_fill_in_place},
    {"ClampBackward0", "aten::logical_and", &self_is_made_in_backward, &logical_and_in_place},
    {"ClampBackward1", "aten::logical_and", &self_is_made_in_backward, &logical_and_in_place},
    // The largest, smallest or middle value of a whole tensor. Only where that reads no value.
    {"MaxBackward1", "aten::logical_and", &self_is_made_in_backward, &logical_and_in_place},
    {"MinBackward1", "aten::logical_and", &self_is_made_in_backward, &logical_and_in_place},
    {"MedianBackward0", "aten::logical_and", &self_is_made_in_backward, &logical_and_in_place},
    {"NanmedianBackward0", "aten::logical_and", &self_is_made_in_backward, &logical_and_in_place},
    {"TakeBackward0", "aten::put", &self_is_made_in_backward, &put_in_place},
    {"aten::cummaxmin_backward", "aten::scatter_add", &always, &scatter_add_in_place},
    {"aten::gather_backward", "aten::scatter_add", &always, &scatter_add_in_place},
    {"aten::trace_backward", "aten::index_fill.int_Tensor", &always, &index_fill_in_place},
    {"aten::value_selecting_reduction_backward", "aten::scatter.src", &always, &scatter_in_place},
    {"aten::index_select_backward", "aten::index_add", &always, &index_add_in_place},
    {"IndexBackward0", "aten::index_put", &always, &index_put_in_place},
    {"aten::_scaled_dot_product_attention_math", "aten::add.Tensor", &always, &add_in_place},
};

std::vector<const Decomposition*> decompositions_for(const program::Target& target,
                                                     const std::string& op) {
  std::vector<const Decomposition*> rows;
  const Decompositions& own =
      target.kind == Target::Kind::kCpu ? kCpuDecompositions : kCudaDecompositions;
  for (const Decompositions* table : {&own, &kCommonDecompositions}) {
    for (const Decomposition& row : *table) {
      if (op == row.op) rows.push_back(&row);
    }
  }
  return rows;
}

}  // namespace elixir::capture
