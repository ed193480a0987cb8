// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Decompositions and solutions of small and middle-sized matrices.
#include "structured_calls.h"

#include <ATen/ops/eye.h>

namespace elixir::capture {
namespace {

/// Symmetric, with eigenvalues near 1, in (batch…, n, n).
at::Tensor definite(Random& random) {
  constexpr std::int64_t kMostRows = 128;
  Sizes sizes = random.any_sizes(0, 2, 3);
  const std::int64_t rows = random.number(1, kMostRows);
  sizes.insert(sizes.end(), {rows, rows});
  const at::ScalarType dtype = random.coin() ? at::kFloat : at::kDouble;
  const at::Tensor matrix = random.tensor(sizes, dtype).div(10 * rows);
  const at::Tensor unit = at::eye(rows, matrix.options());
  return matrix.add(matrix.transpose(-1, -2)).add(unit);
}

at::Tensor right_side(Random& random, const at::Tensor& matrix) {
  Sizes sizes = matrix.sizes().vec();
  sizes.back() = random.number(1, 8);
  return random.tensor(sizes, matrix.scalar_type());
}

}  // namespace

RandomCalls structured_linalg_calls() {
  RandomCalls calls;
  const auto of_matrix = [&](const char* op, const Values& rest) {
    calls.push_back({op, [rest](Random& random) {
                       Values values{definite(random)};
                       values.insert(values.end(), rest.begin(), rest.end());
                       return values;
                     }});
  };
  of_matrix("aten::_linalg_svd", {true, true, kNone});
  of_matrix("aten::geqrf", {});
  of_matrix("aten::_linalg_det", {});
  of_matrix("aten::_linalg_slogdet", {});
  of_matrix("aten::_linalg_eigh", {std::string("L"), true});
  of_matrix("aten::linalg_cholesky_ex", {false, false});
  of_matrix("aten::linalg_inv_ex", {false});
  of_matrix("aten::linalg_lu", {true});
  of_matrix("aten::linalg_lu_factor_ex", {true, false});
  of_matrix("aten::linalg_qr", {std::string("reduced")});
  of_matrix("aten::linalg_pinv.atol_rtol_tensor", {kNone, kNone, false});
  const auto with_right_side = [&](const char* op, bool matrix_first, const Values& rest) {
    calls.push_back({op, [matrix_first, rest](Random& random) {
                       const at::Tensor matrix = definite(random);
                       const at::Tensor right = right_side(random, matrix);
                       Values values = matrix_first ? Values{matrix, right} : Values{right, matrix};
                       values.insert(values.end(), rest.begin(), rest.end());
                       return values;
                     }});
  };
  with_right_side("aten::_linalg_solve_ex", true, {true, false});
  with_right_side("aten::linalg_lstsq", true, {kNone, kNone});
  with_right_side("aten::cholesky_solve", false, {false});
  with_right_side("aten::triangular_solve", false, {true, false, false});
  with_right_side("aten::linalg_solve_triangular", true, {true, true, false});
  calls.push_back(
      {"aten::linalg_lu_solve", [](Random& random) {
         const at::Tensor matrix = definite(random);
         const Values r = results_of("aten::linalg_lu_factor_ex", {matrix, true, false});
         return Values{r[0], r[1], right_side(random, matrix), true, false};
       }});
  calls.push_back(
      {"aten::lu_unpack", [](Random& random) {
         const Values r = results_of("aten::linalg_lu_factor_ex", {definite(random), true, false});
         return Values{r[0], r[1], true, true};
       }});
  calls.push_back({"aten::linalg_cross", [](Random& random) {
                     Sizes sizes = random.any_sizes(0, 3);
                     sizes.push_back(3);
                     const at::ScalarType dtype = random.floating();
                     return Values{random.tensor(sizes, dtype), random.tensor(sizes, dtype), -1};
                   }});
  calls.push_back({"aten::mvlgamma", [](Random& random) {
                     return Values{random.tensor(random.any_sizes(0, 4), at::kFloat).add(2), 2};
                   }});
  calls.push_back({"aten::mvlgamma_", [](Random& random) {
                     return Values{random.plain(random.any_sizes(0, 4), at::kFloat).add_(2), 2};
                   }});
  return calls;
}

}  // namespace elixir::capture
