// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of operators that draw random numbers.
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

/// self: (classes) or (rows, classes)
Values multinomial(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  TORCH_CHECK(input.dim() == 1 || input.dim() == 2, "prob_dist must be 1 or 2 dim");
  Sizes sizes = input.sizes().vec();
  sizes.back() = call.integer("num_samples");
  return {new_empty(sizes, input, at::kLong)};
}

Values binomial(const Target&, const Call& call) {
  return {contiguous_like(call.tensor("count"))};
}
Values dirichlet_grad(const Target&, const Call& call) {
  return {contiguous_like(call.tensor("x"))};
}

}  // namespace

const Rules kRandomRules = {
    {"aten::_dirichlet_grad", &dirichlet_grad},
    {"aten::_sample_dirichlet", &contiguous_as_self},
    {"aten::_standard_gamma", &contiguous_as_self},
    {"aten::_standard_gamma_grad", &contiguous_as_self},
    {"aten::bernoulli_.Tensor", &returns_self},
    {"aten::bernoulli_.float", &returns_self},
    {"aten::binomial", &binomial},
    {"aten::cauchy_", &returns_self},
    {"aten::exponential_", &returns_self},
    {"aten::geometric_", &returns_self},
    {"aten::log_normal_", &returns_self},
    {"aten::multinomial", &multinomial},
    {"aten::poisson", &contiguous_as_self},
};

}  // namespace elixir::capture
