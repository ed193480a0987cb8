// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of Fourier transforms. MKL and cuFFT order the dimensions in memory: first those that
// are not transformed, longest stride first, then those that are, in the order of their
// transformation. The result keeps that order.
#include <algorithm>
#include <numeric>

#include <ATen/WrapDimUtils.h>

#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

Sizes wrapped(const at::Tensor& tensor, Sizes dimensions) {
  check_at_least(tensor, 1, "FFT");
  for (std::int64_t& d : dimensions) d = at::maybe_wrap_dim(d, tensor.dim());
  Sizes unique = dimensions;
  std::sort(unique.begin(), unique.end());
  TORCH_CHECK(std::adjacent_find(unique.begin(), unique.end()) == unique.end(),
              "FFT dims must be unique");
  return dimensions;
}

/// `sizes` in the memory order of one library call.
at::Tensor transformed(const at::Tensor& input,
                       const Sizes& sizes,
                       const Sizes& dimensions,
                       at::ScalarType dtype) {
  Sizes order(static_cast<std::size_t>(input.dim()));
  std::iota(order.begin(), order.end(), 0);
  // An unstable partition, as in LibTorch. It decides the order of dimensions with equal strides.
  const auto rest = std::partition(order.begin(), order.end(), [&](std::int64_t d) {
    return std::find(dimensions.begin(), dimensions.end(), d) == dimensions.end();
  });
  std::sort(order.begin(), rest, [&](std::int64_t a, std::int64_t b) {
    return input.stride(a) > input.stride(b);
  });
  order.erase(rest, order.end());
  order.insert(order.end(), dimensions.begin(), dimensions.end());
  Sizes in_memory;
  for (const std::int64_t d : order) in_memory.push_back(sizes[static_cast<std::size_t>(d)]);
  Sizes back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  return new_empty(in_memory, input, dtype).permute(back);
}

/// Longest stride first. The last dimension stays last if it is halved.
Sizes sorted(const at::Tensor& input, Sizes dimensions, bool keep_last) {
  std::sort(dimensions.begin(),
            dimensions.end() - (keep_last ? 1 : 0),
            [&](std::int64_t a, std::int64_t b) { return input.stride(a) > input.stride(b); });
  return dimensions;
}

Values complex_to_complex(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes dimensions = wrapped(input, call.integers("dim"));
  TORCH_CHECK(input.is_complex(), "_fft_c2c expects a complex input, got ", input.scalar_type());
  if (dimensions.empty()) return {preserved_like(input)};
  return {transformed(
      input, input.sizes().vec(), sorted(input, dimensions, false), input.scalar_type())};
}

Values real_to_complex(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes dimensions = wrapped(input, call.integers("dim"));
  TORCH_CHECK(!dimensions.empty(), "FFT: expected at least one dimension to transform");
  TORCH_CHECK(input.is_floating_point(),
              "_fft_r2c expects a real floating point input, got ",
              input.scalar_type());
  Sizes sizes = input.sizes().vec();
  const auto last = static_cast<std::size_t>(dimensions.back());
  if (call.flag("onesided")) sizes[last] = sizes[last] / 2 + 1;
  return {transformed(
      input, sizes, sorted(input, dimensions, true), at::toComplexType(input.scalar_type()))};
}

/// The other dimensions are transformed before the last.
Values complex_to_real(const Target&, const Call& call) {
  at::Tensor input = call.tensor("self");
  Sizes dimensions = wrapped(input, call.integers("dim"));
  TORCH_CHECK(input.is_complex(), "_fft_c2r expects a complex input, got ", input.scalar_type());
  TORCH_CHECK(!dimensions.empty(), "FFT: expected at least one dimension to transform");
  const std::int64_t last = dimensions.back();
  dimensions.pop_back();
  Sizes sizes = input.sizes().vec();
  if (!dimensions.empty()) {
    input = transformed(input, sizes, sorted(input, dimensions, false), input.scalar_type());
  }
  sizes[static_cast<std::size_t>(last)] = call.integer("last_dim_size");
  return {transformed(input, sizes, {last}, at::toRealValueType(input.scalar_type()))};
}

}  // namespace

const Rules kFourierRules = {
    {"aten::_fft_c2c", &complex_to_complex},
    {"aten::_fft_c2r", &complex_to_real},
    {"aten::_fft_r2c", &real_to_complex},
};

}  // namespace elixir::capture
