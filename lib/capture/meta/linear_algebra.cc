// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of products, distances and factorisations.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <ATen/ExpandUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_linalg_svd.h>
#include <ATen/ops/empty_strided.h>

#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"
#include "core/units.h"

namespace elixir::capture {
namespace {

using program::Target;

Values number_of_same_dtype(const Target&, const Call& call) {
  return {new_empty({}, call.tensor("self"))};
}

/// LAPACK's layout: columns are contiguous, and so are batches.
at::Tensor column_major(Sizes sizes,
                        const at::Tensor& like,
                        std::optional<at::ScalarType> dtype = std::nullopt) {
  TORCH_CHECK(sizes.size() >= 2, "expected matrices or batches of them, but got sizes ", sizes);
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  return new_empty(sizes, like, dtype).transpose(-2, -1);
}

/// Sizes without the last two dimensions, broadcast.
Sizes common_batch(const at::Tensor& first, const at::Tensor& second) {
  check_at_least(first, 2, "the first tensor");
  check_at_least(second, 2, "the second tensor");
  const auto batch = [](const at::Tensor& tensor) {
    return tensor.sizes().slice(0, static_cast<std::size_t>(tensor.dim() - 2));
  };
  return at::infer_size(batch(first), batch(second));
}

void check_matrices(const at::Tensor& tensor, const char* op) {
  TORCH_CHECK(tensor.dim() >= 2,
              op,
              ": The input tensor must have at least 2 dimensions, but it has ",
              tensor.dim());
}
void check_square(const at::Tensor& tensor, const char* op) {
  check_matrices(tensor, op);
  TORCH_CHECK(tensor.size(-1) == tensor.size(-2),
              op,
              ": A must be batches of square matrices, but they are ",
              tensor.size(-2),
              " by ",
              tensor.size(-1),
              " matrices");
}

Values square_column_major(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  check_square(input, "cholesky");
  if (input.numel() == 0) return {contiguous_like(input)};
  return {column_major(input.sizes().vec(), input)};
}

Values householder_product(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("input");
  check_matrices(input, "linalg.householder_product");
  return {column_major(input.sizes().vec(), input)};
}
/// The product of a matrix and another one.
Values ormqr(const Target&, const Call& call) {
  const at::Tensor other = call.tensor("input3");
  check_matrices(other, "ormqr");
  return {column_major(other.sizes().vec(), other)};
}
/// Reflectors, in place of the matrix, and their factors.
Values geqrf(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  check_matrices(input, "geqrf");
  Sizes factors = input.sizes().vec();
  factors.pop_back();
  factors.back() = std::min(input.size(-1), input.size(-2));
  return {column_major(input.sizes().vec(), input), new_empty(factors, input)};
}
/// Complex eigenvalues and eigenvectors.
Values eig(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  check_square(input, "linalg.eig");
  const at::ScalarType dtype = at::toComplexType(input.scalar_type());
  Sizes values = input.sizes().vec();
  values.pop_back();
  return {new_empty(values, input, dtype), column_major(input.sizes().vec(), input, dtype)};
}

/// LibTorch's Meta kernel uses LAPACK's layout. But cuSOLVER returns V, so its adjoint has
/// contiguous rows.
Values svd(const Target& target, const Call& call) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const auto driver = call.optional_text("driver");
  auto [left, values, right] =
      at::_linalg_svd(call.tensor("A"),
                      call.flag("full_matrices"),
                      call.flag("compute_uv"),
                      driver ? std::optional<c10::string_view>(*driver) : std::nullopt);
  return {left, values, is_cuda(target) ? contiguous_like(right) : right};
}

/// Solution, residuals, rank, singular values. The first rows of LAPACK's result are the solution.
/// What a driver does not compute is empty.
Values lstsq(const Target& target, const Call& call) {
  const at::Tensor matrix = call.tensor("self");
  const at::Tensor right = call.tensor("b");
  const std::string driver =
      call.optional_text("driver").value_or(is_cuda(target) ? "gels" : "gelsy");
  TORCH_CHECK(matrix.dim() >= 2, "torch.linalg.lstsq: input must have at least 2 dimensions");
  TORCH_CHECK(!is_cuda(target) || driver == "gels",
              "torch.linalg.lstsq: `driver` other than `gels` is not supported on CUDA");
  const bool vectors = matrix.dim() == right.dim() + 1;
  TORCH_CHECK(right.dim() >= 1 && (vectors || matrix.dim() == right.dim()),
              "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
              "(input.dim() - other.dim()) <= 1");
  const at::Tensor columns = vectors ? right.unsqueeze(-1) : right;
  const std::int64_t rows = matrix.size(-2);
  const std::int64_t unknowns = matrix.size(-1);
  Sizes batch = matrix.sizes().vec();
  batch.resize(batch.size() - 2);
  TORCH_CHECK(columns.size(-2) == rows && common_batch(matrix, columns) == batch &&
                  common_batch(columns, columns) == batch,
              "torch.linalg.lstsq: the sizes of other should match those of input, got ",
              right.sizes(),
              " and ",
              matrix.sizes());
  const auto with = [&batch](std::initializer_list<std::int64_t> last) {
    Sizes sizes = batch;
    sizes.insert(sizes.end(), last);
    return sizes;
  };
  const bool by_values = driver == "gelsd" || driver == "gelss";
  TORCH_CHECK(
      rows <= unknowns || !by_values,
      "torch.linalg.lstsq: with driver ",
      driver,
      " the size of the residuals depends on the rank of the matrix; gels and gelsy do not");
  at::Tensor solution = column_major(with({std::max(rows, unknowns), columns.size(-1)}), matrix)
                            .narrow(-2, 0, unknowns);
  if (vectors) solution = solution.squeeze(-1);
  const bool residuals = rows > unknowns && driver == "gels";
  const at::Tensor none = new_empty({0}, matrix);
  return {
      solution,
      residuals ? new_empty(with({columns.size(-1)}), matrix) : none,
      driver == "gels" ? new_empty({0}, matrix, at::kLong) : new_empty(batch, matrix, at::kLong),
      by_values ? new_empty(with({std::min(rows, unknowns)}), matrix) : new_empty({0}, matrix)};
}

Values product_in_dtype(const Target&, const Call& call) {
  const at::Tensor left = call.tensor("self");
  check_at_least(left, 2, "self");
  Sizes sizes = left.sizes().vec();
  sizes.back() = call.tensor("mat2").size(-1);
  return {new_empty(sizes, left, call.dtype("out_dtype"))};
}

Values matrix_exp(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  check_square(input, "linalg.matrix_exp");
  if (input.size(-1) == 1) return {iterated({input}, input.scalar_type())};
  return {contiguous_like(input)};
}

/// Broadcasts the batches of both. Column-major, because LAPACK solves it.
Values solve_triangular(const Target&, const Call& call) {
  const at::Tensor matrix = call.tensor("self");
  const at::Tensor right = call.tensor("B");
  check_square(matrix, "linalg.solve_triangular");
  check_matrices(right, "linalg.solve_triangular");
  Sizes sizes = common_batch(matrix, right);
  sizes.push_back(right.size(-2));
  sizes.push_back(right.size(-1));
  return {column_major(sizes, right)};
}
Values cholesky_solve(const Target&, const Call& call) {
  const at::Tensor right = call.tensor("self");
  return {column_major(right.sizes().vec(), right)};
}

/// self + sum of the products
Values addbmm(const Target&, const Call& call) {
  const at::Tensor first = call.tensor("batch1");
  return {new_empty({first.size(1), call.tensor("batch2").size(2)}, first)};
}

/// x1 (…, P, M), x2 (…, R, M): all distances (…, P, R)
Values cdist(const Target&, const Call& call) {
  const at::Tensor first = call.tensor("x1");
  const at::Tensor second = call.tensor("x2");
  TORCH_CHECK(first.dim() >= 2 && second.dim() >= 2 && first.size(-1) == second.size(-1),
              "X1 and X2 must have the same number of columns. X1: ",
              first.sizes(),
              " X2: ",
              second.sizes());
  Sizes sizes = common_batch(first, second);
  sizes.push_back(first.size(-2));
  sizes.push_back(second.size(-2));
  return {new_empty(sizes, first)};
}
/// x1 is broadcast to the common batch.
Values cdist_backward(const Target&, const Call& call) {
  const at::Tensor first = call.tensor("x1");
  const at::Tensor second = call.tensor("x2");
  Sizes sizes = common_batch(first, second);
  sizes.push_back(first.size(-2));
  sizes.push_back(first.size(-1));
  return {new_empty(sizes, first)};
}

/// self (N, M): the N (N - 1) / 2 distances of its rows
Values pdist(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  check_dim(input, 2, "pdist");
  const std::int64_t rows = input.size(0);
  return {new_empty({rows <= 1 ? 0 : product_of(rows, rows - 1, "pdist") / 2}, input)};
}

constexpr std::int64_t kGroupedAlignmentBytes = 16;

/// Grouped products read matrices by rows or by columns, of which each begins at a multiple of 16
/// bytes.
void check_grouped(const at::Tensor& matrices, const char* name) {
  TORCH_CHECK(matrices.dim() == 2 || matrices.dim() == 3, name, " has to be 2 or 3d");
  TORCH_CHECK(matrices.scalar_type() == at::kBFloat16 || matrices.scalar_type() == at::kFloat ||
                  matrices.scalar_type() == at::kHalf,
              "Expected ",
              name,
              " to be Float32, BFloat16 or Float16 matrix, got ",
              matrices.scalar_type());
  const auto lines = [](std::int64_t dense, std::int64_t line, std::int64_t length) {
    return dense == 1 && line >= std::max<std::int64_t>(1, length);
  };
  const std::int64_t row = matrices.stride(-2);
  const std::int64_t column = matrices.stride(-1);
  const bool by_columns = lines(row, column, matrices.size(-2));
  TORCH_CHECK(by_columns || lines(column, row, matrices.size(-1)),
              "Invalid strides/sizes, got ",
              matrices.strides(),
              " for strides and ",
              matrices.sizes(),
              " for sizes");
  const std::int64_t line = by_columns ? column : row;
  TORCH_CHECK(line * matrices.element_size() % kGroupedAlignmentBytes == 0,
              "strides should be multiple of 16 bytes");
}

/// The products of groups of rows or columns, which end at `offs`, or of the matrices of a batch.
/// Rows of the result begin at multiples of 16 bytes. Source: ATen/native/GroupedMMUtils.h.
Values grouped_mm(const Target&, const Call& call) {
  const at::Tensor left = call.tensor("self");
  const at::Tensor right = call.tensor("mat2");
  const at::Tensor ends = call.tensor_or_undefined("offs");
  check_grouped(left, "mat_a");
  check_grouped(right, "mat_b");
  const bool left_is_batch = left.dim() == 3;
  const bool right_is_batch = right.dim() == 3;
  TORCH_CHECK((!left_is_batch && !right_is_batch) || left.size(-1) == right.size(-2),
              "contraction dimension of mat_a and mat_b must match");
  TORCH_CHECK(ends.defined() != (left_is_batch && right_is_batch),
              "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are "
              "3d");
  if (ends.defined()) {
    TORCH_CHECK(ends.dim() == 1, "offs has to be 1D");
    TORCH_CHECK(ends.scalar_type() == at::kInt, "Offsets have to be int32");
  }
  const std::int64_t groups = left_is_batch ? left.size(0) : ends.size(0);
  TORCH_CHECK(!right_is_batch || groups == right.size(0), "matrix batch sizes have to match");
  TORCH_CHECK(!ends.defined() || groups == ends.size(0), "matrix batch sizes have to match");
  const std::int64_t rows = left.size(-2);
  const std::int64_t columns = right.size(-1);
  const std::int64_t padded =
      round_up(columns, kGroupedAlignmentBytes / static_cast<std::int64_t>(left.element_size()));
  if (left_is_batch != right_is_batch) {
    return {at::empty_strided({rows, columns}, {padded, 1}, left.options())};
  }
  return {at::empty_strided({groups, rows, columns}, {rows * padded, padded, 1}, left.options())};
}

/// The norms are in fp32 or wider.
Values weight_norm(const Target&, const Call& call) {
  const at::Tensor direction = call.tensor("v");
  const at::Tensor length = call.tensor("g");
  const bool half = length.scalar_type() == at::kBFloat16 || length.scalar_type() == at::kHalf;
  const auto options = length.options().dtype(half ? at::kFloat : length.scalar_type());
  return {contiguous_like(direction), at::empty_strided(length.sizes(), length.strides(), options)};
}
Values weight_norm_backward(const Target&, const Call& call) {
  return {contiguous_like(call.tensor("saved_v")), contiguous_like(call.tensor("saved_g"))};
}

}  // namespace

const Rules kLinearAlgebraRules = {
    {"aten::_cholesky_solve_helper", &cholesky_solve},
    {"aten::linalg_solve_triangular", &solve_triangular},
    {"aten::_cdist_backward", &cdist_backward},
    {"aten::_cdist_forward", &cdist},
    {"aten::_grouped_mm", &grouped_mm},
    {"aten::_linalg_svd", &svd},
    {"aten::_pdist_backward", &contiguous_as_self},
    {"aten::_pdist_forward", &pdist},
    {"aten::_weight_norm_interface", &weight_norm},
    {"aten::_weight_norm_interface_backward", &weight_norm_backward},
    {"aten::addbmm", &addbmm},
    {"aten::bmm.dtype", &product_in_dtype},
    {"aten::cholesky", &square_column_major},
    {"aten::cholesky_inverse", &square_column_major},
    {"aten::dot", &number_of_same_dtype},
    {"aten::geqrf", &geqrf},
    {"aten::linalg_eig", &eig},
    {"aten::linalg_householder_product", &householder_product},
    {"aten::linalg_lstsq", &lstsq},
    {"aten::linalg_matrix_exp", &matrix_exp},
    {"aten::mm.dtype", &product_in_dtype},
    {"aten::ormqr", &ormqr},
    {"aten::vdot", &number_of_same_dtype},
};

}  // namespace elixir::capture
