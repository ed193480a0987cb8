// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "random_calls.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>

#include "core/units.h"

namespace elixir::capture {
namespace {

at::Tensor positive(Random& random) {
  Sizes sizes = random.any_sizes(0, 2, 3);
  const std::int64_t n = random.number(1, 4);
  sizes.insert(sizes.end(), {n, n});
  const at::ScalarType dtype = random.coin() ? at::kFloat : at::kDouble;
  const at::Tensor matrix = random.tensor(sizes, dtype);
  const at::Tensor unit = at::eye(n, at::TensorOptions().device(matrix.device()));
  return random.coin() ? matrix.transpose(-1, -2).mul(0.01).add(unit) : matrix.mul(0.01).add(unit);
}

Sizes at_least_one_dimension(Random& random, const Sizes& sizes) {
  Sizes some;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (random.coin()) some.push_back(static_cast<std::int64_t>(d));
  }
  if (some.empty()) some.push_back(static_cast<std::int64_t>(sizes.size()) - 1);
  return some;
}

/// Groups of equal size: rows times matrices, matrices times columns, columns times rows, or a
/// batch.
Values grouped_product(Random& random) {
  constexpr std::int64_t kAlignment = 8;  // elements of bf16 in 16 bytes
  constexpr std::int64_t kMostGroups = 9;
  const at::ScalarType dtype =
      random.one_of<at::ScalarType>({at::kFloat, at::kBFloat16, at::kBFloat16, at::kHalf});
  const std::int64_t groups = random.number(1, kMostGroups);
  Sizes sizes = random.sizes(3);
  for (std::int64_t& size : sizes) size = round_up(size, kAlignment);
  const auto [rows, inner, columns] = std::tuple(sizes[0], sizes[1], sizes[2]);
  const auto matrices = [&](const Sizes& shape) {
    Sizes turned = shape;
    std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
    return random.coin() ? random.plain(shape, dtype)
                         : random.plain(turned, dtype).transpose(-1, -2);
  };
  const bool left_is_batch = random.coin();
  const bool right_is_batch = random.coin();
  if (left_is_batch && right_is_batch) {
    return {
        matrices({groups, rows, inner}), matrices({groups, inner, columns}), kNone, kNone, kNone};
  }
  const std::int64_t each = left_is_batch ? columns : right_is_batch ? rows : inner;
  const auto options = at::TensorOptions().dtype(at::kInt).device(random.space().device);
  const at::Tensor ends = at::arange(each, groups * each + 1, each, options);
  if (left_is_batch) {
    return {
        matrices({groups, rows, inner}), matrices({inner, groups * columns}), ends, kNone, kNone};
  }
  if (right_is_batch) {
    return {
        matrices({groups * rows, inner}), matrices({groups, inner, columns}), ends, kNone, kNone};
  }
  return {
      matrices({rows, groups * inner}), matrices({groups * inner, columns}), ends, kNone, kNone};
}

}  // namespace

RandomCalls random_algebra_calls() {
  RandomCalls calls{
      {"aten::_grouped_mm", &grouped_product},
      {"aten::addbmm",
       [](Random& random) {
         const Sizes s = random.sizes(4);
         const at::ScalarType dtype = random.floating();
         return Values{random.tensor({s[1], s[3]}, dtype),
                       random.tensor({s[0], s[1], s[2]}, dtype),
                       random.tensor({s[0], s[2], s[3]}, dtype),
                       1,
                       1};
       }},
      {"aten::_cdist_forward",
       [](Random& random) {
         const Sizes s = random.sizes(4);
         const at::ScalarType dtype = random.coin() ? at::kFloat : at::kDouble;
         const bool broadcast = random.coin();
         return Values{
             random.tensor({s[0], s[1], s[3]}, dtype),
             random.tensor(broadcast ? Sizes{1, s[2], s[3]} : Sizes{s[0], s[2], s[3]}, dtype),
             random.coin() ? 2.0 : 1.0,
             random.coin() ? kNone : c10::IValue(2)};
       }},
      {"aten::_cdist_backward",
       [](Random& random) {
         const Sizes s = random.sizes(4);
         const at::ScalarType dtype = random.coin() ? at::kFloat : at::kDouble;
         return Values{random.tensor({s[0], s[1], s[2]}, dtype),
                       random.tensor({s[0], s[1], s[3]}, dtype),
                       random.tensor({s[0], s[2], s[3]}, dtype),
                       1.0,
                       random.tensor({s[0], s[1], s[2]}, dtype)};
       }},
      {"aten::_pdist_forward",
       [](Random& random) {
         return Values{random.plain(random.sizes(2), at::kFloat), 2.0};
       }},
      {"aten::_pdist_backward",
       [](Random& random) {
         const std::int64_t n = random.number(2, 5);
         const std::int64_t pairs = n * (n - 1) / 2;
         return Values{random.plain({pairs}, at::kFloat),
                       random.plain({n, 3}, at::kFloat),
                       2.0,
                       random.plain({pairs}, at::kFloat)};
       }},
      {"aten::_weight_norm_interface",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(2, 4);
         Sizes norms(sizes.size(), 1);
         const bool last = random.coin();
         (last ? norms.back() : norms.front()) = last ? sizes.back() : sizes.front();
         const at::ScalarType dtype = random.floating();
         return Values{random.tensor(sizes, dtype),
                       random.plain(norms, dtype),
                       last ? static_cast<std::int64_t>(sizes.size()) - 1 : 0};
       }},
      {"aten::_weight_norm_interface_backward",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(2, 4);
         Sizes norms(sizes.size(), 1);
         norms.front() = sizes.front();
         return Values{random.plain(sizes, at::kFloat),
                       random.plain(sizes, at::kFloat),
                       random.plain(norms, at::kFloat),
                       random.plain(norms, at::kFloat),
                       0};
       }},
      {"aten::linalg_matrix_exp", [](Random& random) { return Values{positive(random)}; }},
      {"aten::linalg_householder_product",
       [](Random& random) {
         Sizes sizes = random.any_sizes(2, 4, 4);
         sizes[sizes.size() - 2] = sizes.back() + random.number(0, 2);
         Sizes factors = sizes;
         factors.pop_back();
         factors.back() = sizes.back();
         return Values{random.tensor(sizes, at::kFloat), random.tensor(factors, at::kFloat)};
       }},
      {"aten::ormqr",
       [](Random& random) {
         const Sizes s = random.sizes(2);
         const std::int64_t rows = s[0] + 1;
         return Values{random.tensor({rows, rows}, at::kFloat),
                       random.tensor({rows}, at::kFloat),
                       random.tensor({rows, s[1]}, at::kFloat),
                       true,
                       random.coin()};
       }},
      {"aten::geqrf",
       [](Random& random) { return Values{random.tensor(random.any_sizes(2, 4), at::kFloat)}; }},
      {"aten::_linalg_svd",
       [](Random& random) {
         return Values{random.tensor(random.any_sizes(2, 4), at::kFloat),
                       random.coin(),
                       random.coin(),
                       kNone};
       }},
      {"aten::linalg_eig", [](Random& random) { return Values{positive(random)}; }},
      {"aten::cholesky",
       [](Random& random) {
         return Values{positive(random), random.coin()};
       }},
      {"aten::cholesky_inverse",
       [](Random& random) {
         return Values{positive(random), random.coin()};
       }},
      {"aten::linalg_lstsq",
       [](Random& random) {
         Sizes sizes = random.any_sizes(2, 4);
         const at::ScalarType dtype = random.coin() ? at::kFloat : at::kDouble;
         const at::Tensor matrix = random.tensor(sizes, dtype);
         sizes.pop_back();
         if (random.coin()) sizes.push_back(random.number(1, 4));
         const auto driver = random.one_of<std::string>({"", "gels", "gelsy"});
         return Values{matrix,
                       random.tensor(sizes, dtype),
                       kNone,
                       driver.empty() ? kNone : c10::IValue(driver)};
       }},
      {"aten::linalg_solve_triangular",
       [](Random& random) {
         const at::Tensor matrix = positive(random);
         Sizes sizes = matrix.sizes().vec();
         const bool left = random.coin();
         sizes[sizes.size() - (left ? 1 : 2)] = random.number(1, 4);
         if (sizes.size() > 2 && random.coin()) sizes.erase(sizes.begin());
         return Values{
             matrix, random.tensor(sizes, matrix.scalar_type()), random.coin(), left, false};
       }},
      {"aten::_cholesky_solve_helper",
       [](Random& random) {
         const at::Tensor matrix = positive(random);
         Sizes sizes = matrix.sizes().vec();
         sizes.back() = random.number(1, 4);
         return Values{random.tensor(sizes, matrix.scalar_type()), matrix, random.coin()};
       }},
      {"aten::_fft_r2c",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(1, 4, 6);
         const at::ScalarType dtype = random.coin() ? at::kFloat : at::kDouble;
         return Values{
             random.tensor(sizes, dtype), at_least_one_dimension(random, sizes), 0, random.coin()};
       }},
      {"aten::_fft_c2c",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(1, 4, 6);
         return Values{random.tensor(sizes, at::kComplexFloat),
                       at_least_one_dimension(random, sizes),
                       0,
                       random.coin()};
       }},
      {"aten::_fft_c2r", [](Random& random) {
         const Sizes sizes = random.any_sizes(1, 4, 6);
         const Sizes dimensions = at_least_one_dimension(random, sizes);
         const std::int64_t half = sizes[static_cast<std::size_t>(dimensions.back())];
         return Values{random.tensor(sizes, at::kComplexFloat),
                       dimensions,
                       0,
                       std::max<std::int64_t>(1, 2 * (half - 1) + random.number(0, 1))};
       }}};
  for (const char* op : {"aten::dot", "aten::vdot"}) {
    calls.push_back({op, [](Random& random) {
                       const Sizes sizes = random.sizes(1);
                       const at::ScalarType dtype = random.any_dtype();
                       return Values{random.tensor(sizes, dtype), random.tensor(sizes, dtype)};
                     }});
  }
  return calls;
}

}  // namespace elixir::capture
