// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Products of matrices with dimensions that are no multiples of 16 bytes (edit/aligned_products.h),
// for LibTorch's dispatcher. Each dimension is split into its aligned part and a rest of fewer than
// 8 elements; cuBLAS does the aligned part with tensor cores, and the rest costs little. How a
// product is split depends on its shape alone.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include "operators/own.h"

namespace elixir::replay {
namespace {

// The last two dimensions are a matrix; one before them counts the matrices of a batch.
constexpr std::int64_t kRows = -2, kColumns = -1;

/// The largest multiple of 16 bytes within `n` elements; `n` where that is nothing.
std::int64_t aligned_part(std::int64_t n, const at::Tensor& of) {
  const std::int64_t unit = std::max<std::int64_t>(
      1, operators::kAlignedBytes / static_cast<std::int64_t>(of.element_size()));
  const std::int64_t aligned = n / unit * unit;
  return aligned == 0 ? n : aligned;
}

/// result = left right, or result += left right. The inner dimension is whole or split: the rest
/// comes first, because the sum is rounded after each part, and so the large part rounds last.
void multiply(at::Tensor result, const at::Tensor& left, const at::Tensor& right, bool add) {
  const std::int64_t inner = left.size(kColumns), aligned = aligned_part(inner, left);
  if (aligned != inner) {
    multiply(result,
             left.narrow(kColumns, aligned, inner - aligned),
             right.narrow(kRows, aligned, inner - aligned),
             add);
    multiply(result, left.narrow(kColumns, 0, aligned), right.narrow(kRows, 0, aligned), true);
    return;
  }
  const bool batch = left.dim() == 3;
  if (batch && add) {
    at::baddbmm_out(result, result, left, right);
  } else if (batch) {
    at::bmm_out(result, left, right);
  } else if (add) {
    at::addmm_out(result, result, left, right);
  } else {
    at::mm_out(result, left, right);
  }
}

/// For the few columns beside the aligned ones. cuBLAS's kernels for few columns count a result's
/// elements in 32 bits, so rows that reach further come in groups.
void multiply_in_row_groups(const at::Tensor& result,
                            const at::Tensor& left,
                            const at::Tensor& right,
                            bool add) {
  const std::int64_t rows = left.size(kRows);
  const std::int64_t distance = std::max<std::int64_t>(1, result.stride(kRows));
  const std::int64_t most_rows =
      std::max<std::int64_t>(1, std::numeric_limits<std::int32_t>::max() / distance);
  for (std::int64_t first = 0; first < rows; first += most_rows) {
    const std::int64_t count = std::min(most_rows, rows - first);
    multiply(result.narrow(kRows, first, count), left.narrow(kRows, first, count), right, add);
  }
}

/// The same for rows and columns, each whole or split in two.
void multiply_in_parts(const at::Tensor& result,
                       const at::Tensor& left,
                       const at::Tensor& right,
                       bool add) {
  const std::int64_t rows = left.size(kRows), columns = right.size(kColumns);
  const std::int64_t row_parts[] = {0, aligned_part(rows, left), rows};
  const std::int64_t column_parts[] = {0, aligned_part(columns, left), columns};
  for (int i = 0; i < 2; ++i) {
    const std::int64_t of_rows = row_parts[i + 1] - row_parts[i];
    if (of_rows == 0) continue;
    for (int j = 0; j < 2; ++j) {
      const std::int64_t of_columns = column_parts[j + 1] - column_parts[j];
      if (of_columns == 0) continue;
      const at::Tensor part =
          result.narrow(kRows, row_parts[i], of_rows).narrow(kColumns, column_parts[j], of_columns);
      const bool is_rest = j > 0 && of_columns < columns;
      const at::Tensor of_left = left.narrow(kRows, row_parts[i], of_rows);
      const at::Tensor of_right = right.narrow(kColumns, column_parts[j], of_columns);
      if (is_rest) {
        multiply_in_row_groups(part, of_left, of_right, add);
      } else {
        multiply(part, of_left, of_right, add);
      }
    }
  }
}

/// `rank`: 2, or 3 for a batch.
void check(const at::Tensor& left,
           const at::Tensor& right,
           std::int64_t row_stride,
           std::int64_t rank = 2) {
  TORCH_CHECK_VALUE(
      left.dim() == rank && right.dim() == rank && left.size(kColumns) == right.size(kRows) &&
          (rank == 2 || left.size(0) == right.size(0)) &&
          left.scalar_type() == right.scalar_type() && left.device() == right.device(),
      "an aligned product needs two matrices that fit each other");
  TORCH_CHECK_VALUE(row_stride >= right.size(kColumns),
                    "an aligned product has rows of ",
                    right.size(kColumns),
                    " elements, which overlap at a distance of ",
                    row_stride);
}

at::Tensor empty_rows(const at::Tensor& left, const at::Tensor& right, std::int64_t row_stride) {
  std::vector<std::int64_t> sizes = left.sizes().vec();
  sizes.back() = row_stride;
  return at::empty(sizes, left.options()).narrow(kColumns, 0, right.size(kColumns));
}

at::Tensor product(const at::Tensor& left, const at::Tensor& right, std::int64_t row_stride) {
  check(left, right, row_stride);
  at::Tensor result = empty_rows(left, right, row_stride);
  multiply_in_parts(result, left, right, false);
  return result;
}

at::Tensor batch_product(const at::Tensor& left, const at::Tensor& right, std::int64_t row_stride) {
  check(left, right, row_stride, 3);
  at::Tensor result = empty_rows(left, right, row_stride);
  multiply_in_parts(result, left, right, false);
  return result;
}

at::Tensor product_with_bias(const at::Tensor& bias,
                             const at::Tensor& left,
                             const at::Tensor& right,
                             std::int64_t row_stride) {
  check(left, right, row_stride);
  TORCH_CHECK_VALUE(bias.dim() == 1 && bias.size(0) == right.size(1) &&
                        bias.scalar_type() == left.scalar_type() && bias.device() == left.device(),
                    "an aligned product needs one bias per column");
  at::Tensor result = empty_rows(left, right, row_stride);
  result.copy_(bias.expand_as(result));
  multiply_in_parts(result, left, right, true);
  return result;
}

TORCH_LIBRARY_FRAGMENT(elixir, library) {
  library.def("mm(Tensor self, Tensor mat2, int row_stride) -> Tensor");
  library.def("bmm(Tensor self, Tensor mat2, int row_stride) -> Tensor");
  library.def("addmm(Tensor self, Tensor mat1, Tensor mat2, int row_stride) -> Tensor");
}

TORCH_LIBRARY_IMPL(elixir, CompositeExplicitAutograd, library) {
  library.impl("mm", &product);
  library.impl("bmm", &batch_product);
  library.impl("addmm", &product_with_bias);
}

}  // namespace
}  // namespace elixir::replay
