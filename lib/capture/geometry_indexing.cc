// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of operators that look elements up.
#include <algorithm>

#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>

#include "capture/geometry.h"

namespace elixir::capture {
namespace {

using program::Target;

void check_index(const at::Tensor& index, const char* op) {
  TORCH_CHECK(index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
              op,
              ": expected the indices to be Long or Int, but got ",
              index.scalar_type());
}

Values index_select(const Target&, const Values& a) {
  const at::Tensor self = a[0].toTensor();
  const at::Tensor index = a[2].toTensor();
  check_index(index, "index_select()");
  TORCH_CHECK(index.dim() <= 1, "index_select(): Index is supposed to be a vector");
  Sizes sizes = self.sizes().vec();
  if (!sizes.empty()) {
    sizes[static_cast<std::size_t>(at::maybe_wrap_dim(a[1].toInt(), self.dim()))] = index.numel();
  }
  return {new_empty(sizes, self)};
}

Values embedding(const Target&, const Values& a) {
  const at::Tensor weight = a[0].toTensor();
  const at::Tensor index = a[1].toTensor();
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  check_index(index, "embedding()");
  Sizes sizes = index.sizes().vec();
  sizes.push_back(weight.size(1));
  return {new_empty(sizes, weight)};
}

Values embedding_dense_backward(const Target&, const Values& a) {
  const at::Tensor gradient = a[0].toTensor();
  return {new_empty({a[2].toInt(), gradient.size(-1)}, gradient)};
}

Values where_self(const Target&, const Values& a) {
  const at::Tensor condition = a[0].toTensor();
  const at::Tensor self = a[1].toTensor();
  const at::Tensor other = a[2].toTensor();
  const auto iterator =
      at::TensorIteratorConfig()
          .check_all_same_dtype(false)
          .declare_static_dtype_and_device(at::result_type(self, other), c10::kMeta)
          .add_owned_output(at::Tensor())
          .add_owned_const_input(condition)
          .add_owned_const_input(self)
          .add_owned_const_input(other)
          .build();
  return {iterator.output(0)};
}

/// row, col, offset, dtype, …: coordinates of a triangle's elements.
Values triangle(const Values& a, bool upper) {
  const std::int64_t rows = a[0].toInt();
  const std::int64_t columns = a[1].toInt();
  const std::int64_t offset = a[2].toInt();
  std::int64_t below =
      0;  // elements on or below the diagonal `offset` (lower), or above the one before (upper)
  const std::int64_t last = upper ? offset - 1 : offset;
  for (std::int64_t row = 0; row < rows; ++row) {
    below += std::clamp<std::int64_t>(row + last + 1, 0, columns);
  }
  const std::int64_t count = upper ? rows * columns - below : below;
  const at::ScalarType dtype = a[3].isNone() ? at::kLong : a[3].toScalarType();
  return {at::empty({2, count}, at::TensorOptions().device(c10::kMeta).dtype(dtype))};
}
Values tril_indices(const Target&, const Values& a) {
  return triangle(a, false);
}
Values triu_indices(const Target&, const Values& a) {
  return triangle(a, true);
}

Values itself(const Target&, const Values& a) {
  return {a[0]};
}

/// On the CPU a roll is the concatenation of two slices; on CUDA a kernel of its own.
Values roll(const Target& target, const Values& a) {
  const at::Tensor self = a[0].toTensor();
  return {is_cuda(target) ? contiguous_like(self) : suggested_like(self)};
}

}  // namespace

const Rules kIndexingRules = {
    {"aten::index_select", &index_select},
    {"aten::embedding", &embedding},
    {"aten::embedding_dense_backward", &embedding_dense_backward},
    {"aten::where.self", &where_self},
    {"aten::_index_put_impl_", &itself},
    {"aten::roll", &roll},
    {"aten::tril_indices", &tril_indices},
    {"aten::triu_indices", &triu_indices},
};

}  // namespace elixir::capture
