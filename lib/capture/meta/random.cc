// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of operators that draw random numbers.
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

/// self (classes) or (rows, classes), number of samples
Values multinomial(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  TORCH_CHECK(input.dim() == 1 || input.dim() == 2, "prob_dist must be 1 or 2 dim");
  Sizes sizes = input.sizes().vec();
  sizes.back() = a[1].toInt();
  return {new_empty(sizes, input, at::kLong)};
}

}  // namespace

const Rules kRandomRules = {
    {"aten::_dirichlet_grad", &contiguous_as_first},
    {"aten::_sample_dirichlet", &contiguous_as_first},
    {"aten::_standard_gamma", &contiguous_as_first},
    {"aten::_standard_gamma_grad", &contiguous_as_first},
    {"aten::bernoulli_.Tensor", &returns_first_argument},
    {"aten::bernoulli_.float", &returns_first_argument},
    {"aten::binomial", &contiguous_as_first},
    {"aten::cauchy_", &returns_first_argument},
    {"aten::exponential_", &returns_first_argument},
    {"aten::geometric_", &returns_first_argument},
    {"aten::log_normal_", &returns_first_argument},
    {"aten::multinomial", &multinomial},
    {"aten::poisson", &contiguous_as_first},
};

}  // namespace elixir::capture
