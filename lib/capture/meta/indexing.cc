// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of operators that look elements up.
#include <algorithm>

#include <ATen/WrapDimUtils.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>

#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

void check_index(const at::Tensor& index, const char* op) {
  TORCH_CHECK(index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
              op,
              ": expected the indices to be Long or Int, but got ",
              index.scalar_type());
}

Values index_select(const Target&, const Call& call) {
  const at::Tensor self = call.tensor("self");
  const at::Tensor index = call.tensor("index");
  check_index(index, "index_select()");
  TORCH_CHECK(index.dim() <= 1, "index_select(): Index is supposed to be a vector");
  Sizes sizes = self.sizes().vec();
  if (!sizes.empty()) {
    sizes[static_cast<std::size_t>(at::maybe_wrap_dim(call.integer("dim"), self.dim()))] =
        index.numel();
  }
  return {new_empty(sizes, self)};
}

Values embedding(const Target&, const Call& call) {
  const at::Tensor weight = call.tensor("weight");
  const at::Tensor index = call.tensor("indices");
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  check_index(index, "embedding()");
  Sizes sizes = index.sizes().vec();
  sizes.push_back(weight.size(1));
  return {new_empty(sizes, weight)};
}

Values embedding_dense_backward(const Target&, const Call& call) {
  const at::Tensor gradient = call.tensor("grad_output");
  return {new_empty({call.integer("num_weights"), gradient.size(-1)}, gradient)};
}

Values where_self(const Target&, const Call& call) {
  const at::Tensor condition = call.tensor("condition");
  const at::Tensor self = call.tensor("self");
  const at::Tensor other = call.tensor("other");
  return {iterated({condition, self, other}, at::result_type(self, other))};
}

/// Coordinates of a triangle's elements.
Values triangle(const Call& call, bool upper) {
  const std::int64_t rows = call.integer("row");
  const std::int64_t columns = call.integer("col");
  const std::int64_t offset = call.integer("offset");
  TORCH_CHECK(rows >= 0, "row must be non-negative, got", rows);
  TORCH_CHECK(columns >= 0, "col must be non-negative, got", columns);
  const std::int64_t elements = product_of(rows, columns, "a triangle's elements");
  const std::int64_t bounded = std::clamp(offset, -rows - 1, columns + 1);
  const std::int64_t count = upper
                                 ? elements - at::native::get_tril_size(rows, columns, bounded - 1)
                                 : at::native::get_tril_size(rows, columns, bounded);
  const at::ScalarType dtype = call.dtype_or("dtype", at::kLong);
  return {at::empty({2, count}, at::TensorOptions().device(c10::kMeta).dtype(dtype))};
}
Values tril_indices(const Target&, const Call& call) {
  return triangle(call, false);
}
Values triu_indices(const Target&, const Call& call) {
  return triangle(call, true);
}

/// On the CPU, a roll along one dimension concatenates two slices, and a roll along all dimensions
/// is that of the flat tensor. CUDA has a kernel.
at::Tensor rolled(const at::Tensor& self, const Sizes& shifts, const Sizes& dimensions) {
  if (self.numel() == 0) return preserved_like(self);
  if (dimensions.empty()) return rolled(self.contiguous().view(-1), shifts, {0}).view(self.sizes());
  at::Tensor once = self;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::int64_t d = at::maybe_wrap_dim(dimensions[i], self.dim());
    const std::int64_t size = self.size(d);
    const std::int64_t start = ((size - shifts[i] % size) % size + size) % size;
    once = at::cat({once.narrow(d, start, size - start), once.narrow(d, 0, start)}, d);
  }
  return once;
}
Values roll(const Target& target, const Call& call) {
  const at::Tensor self = call.tensor("self");
  const Sizes shifts = call.integers("shifts");
  const Sizes dimensions = call.integers("dims");
  TORCH_CHECK(!shifts.empty(), "`shifts` required");
  TORCH_CHECK(dimensions.empty() ? shifts.size() == 1 : shifts.size() == dimensions.size(),
              "shifts and dimensions must align. shifts: ",
              shifts.size(),
              ", dims:",
              dimensions.size());
  return {is_cuda(target) ? contiguous_like(self) : rolled(self, shifts, dimensions)};
}

Values take(const Target&, const Call& call) {
  const at::Tensor index = call.tensor("index");
  TORCH_CHECK(index.scalar_type() == at::kLong,
              "take(): Expected a long tensor for index, but got ",
              index.scalar_type());
  return {new_empty(index.sizes(), call.tensor("self"))};
}

/// The positions of values among boundaries.
at::Tensor places(const at::Tensor& values, bool as_int32) {
  return new_empty(values.sizes(), values, as_int32 ? at::kInt : at::kLong);
}
Values bucketize(const Target&, const Call& call) {
  return {places(call.tensor("self"), call.flag("out_int32"))};
}
Values searchsorted(const Target&, const Call& call) {
  return {places(call.tensor("self"), call.flag("out_int32"))};
}
Values searchsorted_scalar(const Target&, const Call& call) {
  return {
      new_empty({}, call.tensor("sorted_sequence"), call.flag("out_int32") ? at::kInt : at::kLong)};
}
Values bucketize_scalar(const Target&, const Call& call) {
  return {new_empty({}, call.tensor("boundaries"), call.flag("out_int32") ? at::kInt : at::kLong)};
}

Values unfold_backward(const Target&, const Call& call) {
  return {new_empty(call.integers("input_sizes"), call.tensor("grad_in"))};
}

}  // namespace

const Rules kIndexingRules = {
    {"aten::_index_put_impl_", &returns_self},
    {"aten::bucketize.Scalar", &bucketize_scalar},
    {"aten::bucketize.Tensor", &bucketize},
    {"aten::embedding", &embedding},
    {"aten::embedding_dense_backward", &embedding_dense_backward},
    {"aten::embedding_renorm_", &returns_self},
    {"aten::index_select", &index_select},
    {"aten::masked_scatter_", &returns_self},
    {"aten::put_", &returns_self},
    {"aten::roll", &roll},
    {"aten::searchsorted.Scalar", &searchsorted_scalar},
    {"aten::searchsorted.Tensor", &searchsorted},
    {"aten::take", &take},
    {"aten::tril_indices", &tril_indices},
    {"aten::triu_indices", &triu_indices},
    {"aten::unfold_backward", &unfold_backward},
    {"aten::where.self", &where_self},
};

}  // namespace elixir::capture
