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
  return {iterated({condition, self, other}, at::result_type(self, other))};
}

/// row, col, offset, dtype, …: coordinates of a triangle's elements.
Values triangle(const Values& a, bool upper) {
  const std::int64_t rows = a[0].toInt();
  const std::int64_t columns = a[1].toInt();
  const std::int64_t offset = a[2].toInt();
  TORCH_CHECK(rows >= 0, "row must be non-negative, got", rows);
  TORCH_CHECK(columns >= 0, "col must be non-negative, got", columns);
  const std::int64_t elements = product_of(rows, columns, "a triangle's elements");
  const std::int64_t bounded = std::clamp(offset, -rows - 1, columns + 1);
  const std::int64_t count = upper
                                 ? elements - at::native::get_tril_size(rows, columns, bounded - 1)
                                 : at::native::get_tril_size(rows, columns, bounded);
  const at::ScalarType dtype = a[3].isNone() ? at::kLong : a[3].toScalarType();
  return {at::empty({2, count}, at::TensorOptions().device(c10::kMeta).dtype(dtype))};
}
Values tril_indices(const Target&, const Values& a) {
  return triangle(a, false);
}
Values triu_indices(const Target&, const Values& a) {
  return triangle(a, true);
}

/// On the CPU a roll along one dimension is the concatenation of two slices, and one along all of
/// them that of the flat tensor; on CUDA a kernel of its own.
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
Values roll(const Target& target, const Values& a) {
  const at::Tensor self = a[0].toTensor();
  const Sizes shifts = a[1].toIntVector();
  const Sizes dimensions = a[2].toIntVector();
  TORCH_CHECK(!shifts.empty(), "`shifts` required");
  TORCH_CHECK(dimensions.empty() ? shifts.size() == 1 : shifts.size() == dimensions.size(),
              "shifts and dimensions must align. shifts: ",
              shifts.size(),
              ", dims:",
              dimensions.size());
  return {is_cuda(target) ? contiguous_like(self) : rolled(self, shifts, dimensions)};
}

Values take(const Target&, const Values& a) {
  const at::Tensor index = a[1].toTensor();
  TORCH_CHECK(index.scalar_type() == at::kLong,
              "take(): Expected a long tensor for index, but got ",
              index.scalar_type());
  return {new_empty(index.sizes(), a[0].toTensor())};
}

/// Where values fall among boundaries; position and dtype flag of the arguments differ.
at::Tensor places(const at::Tensor& values, const c10::IValue& as_int32) {
  return new_empty(values.sizes(), values, as_int32.toBool() ? at::kInt : at::kLong);
}
Values bucketize(const Target&, const Values& a) {
  return {places(a[0].toTensor(), a[2])};
}
Values searchsorted(const Target&, const Values& a) {
  return {places(a[1].toTensor(), a[2])};
}
Values searchsorted_scalar(const Target&, const Values& a) {
  return {new_empty({}, a[0].toTensor(), a[2].toBool() ? at::kInt : at::kLong)};
}
Values bucketize_scalar(const Target&, const Values& a) {
  return {new_empty({}, a[1].toTensor(), a[2].toBool() ? at::kInt : at::kLong)};
}

/// gradient, sizes of the input
Values unfold_backward(const Target&, const Values& a) {
  return {new_empty(a[1].toIntVector(), a[0].toTensor())};
}

}  // namespace

const Rules kIndexingRules = {
    {"aten::_index_put_impl_", &returns_first_argument},
    {"aten::bucketize.Scalar", &bucketize_scalar},
    {"aten::bucketize.Tensor", &bucketize},
    {"aten::embedding", &embedding},
    {"aten::embedding_dense_backward", &embedding_dense_backward},
    {"aten::embedding_renorm_", &returns_first_argument},
    {"aten::index_select", &index_select},
    {"aten::masked_scatter_", &returns_first_argument},
    {"aten::put_", &returns_first_argument},
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
