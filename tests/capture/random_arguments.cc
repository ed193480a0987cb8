// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "random_arguments.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>

namespace elixir::capture {

std::int64_t Random::number(std::int64_t low, std::int64_t high) {
  const auto range = static_cast<std::uint64_t>(high - low + 1);
  return low + static_cast<std::int64_t>(engine_() % range);
}

Sizes Random::sizes(std::int64_t count, std::int64_t high) {
  if (space_.most_elements > 0 && high == kTiny) return sizes_of_any_magnitude(count);
  Sizes sizes;
  for (std::int64_t i = 0; i < count; ++i) sizes.push_back(number(0, 5) == 0 ? 1 : number(1, high));
  return sizes;
}

Sizes Random::sizes_of_any_magnitude(std::int64_t count) {
  constexpr std::int64_t kParts = 1000;
  const double largest = std::log2(static_cast<double>(space_.most_elements));
  const double bits = largest * static_cast<double>(number(0, kParts)) / kParts;
  std::vector<double> shares;
  for (std::int64_t i = 0; i < count; ++i) {
    shares.push_back(number(0, 5) == 0 ? 0.0 : static_cast<double>(number(1, kParts)));
  }
  const double sum = std::max(1.0, std::accumulate(shares.begin(), shares.end(), 0.0));
  Sizes sizes;
  for (const double share : shares) {
    sizes.push_back(static_cast<std::int64_t>(std::exp2(bits * share / sum)));
  }
  return sizes;
}

Sizes Random::any_sizes(std::int64_t fewest, std::int64_t most, std::int64_t high) {
  return sizes(number(fewest, most), high);
}

at::ScalarType Random::floating() {
  return coin() ? at::kFloat : one_of<at::ScalarType>({at::kDouble, at::kBFloat16, at::kHalf});
}

at::ScalarType Random::any_dtype() {
  return number(0, 3) > 0 ? floating()
                          : one_of<at::ScalarType>({at::kLong, at::kInt, at::kByte, at::kBool});
}

at::Tensor Random::plain(const Sizes& sizes, at::ScalarType dtype) {
  if (at::isIntegralType(dtype, /*includeBool=*/true)) return indices(sizes, 2, dtype);
  if (at::isComplexType(dtype))
    return at::rand(sizes, at::TensorOptions().dtype(dtype).device(space_.device));
  return at::rand(sizes, at::TensorOptions().device(space_.device)).mul_(0.9).add_(0.05).to(dtype);
}

at::Tensor Random::indices(const Sizes& sizes, std::int64_t below, at::ScalarType dtype) {
  const at::Tensor plain =
      at::randint(below, sizes, at::TensorOptions().dtype(dtype).device(space_.device));
  return space_.device.is_cuda() ? laid_out(plain, /*overlapping=*/false) : plain;
}

at::Tensor Random::operand(const Sizes& sizes, at::ScalarType dtype) {
  return space_.device.is_cuda() ? tensor(sizes, dtype, /*overlapping=*/false)
                                 : plain(sizes, dtype);
}

at::Tensor Random::tensor(const Sizes& sizes, at::ScalarType dtype, bool overlapping) {
  return laid_out(plain(sizes, dtype), overlapping);
}

at::Tensor Random::laid_out(const at::Tensor& contiguous, bool overlapping) {
  const std::int64_t dimensions = contiguous.dim();
  if (dimensions == 0) return contiguous;
  switch (number(0, 5)) {
    case 0:
      if (dimensions == 4) return contiguous.contiguous(at::MemoryFormat::ChannelsLast);
      if (dimensions == 5) return contiguous.contiguous(at::MemoryFormat::ChannelsLast3d);
      return contiguous;
    case 1: {  // any order of dimensions in memory
      std::vector<std::int64_t> order(static_cast<std::size_t>(dimensions));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), engine_);
      std::vector<std::int64_t> back(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) {
        back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
      }
      return contiguous.permute(order).contiguous().permute(back);
    }
    case 2: {  // every second element of one dimension, from the second on
      const std::int64_t d = number(0, dimensions - 1);
      return contiguous.repeat_interleave(2, d).slice(d, 1, std::nullopt, 2);
    }
    case 3: {
      if (!overlapping) return contiguous;
      const std::int64_t d = number(0, dimensions - 1);
      return contiguous.narrow(d, 0, std::min<std::int64_t>(1, contiguous.size(d)))
          .expand(contiguous.sizes());
    }
    default:
      return contiguous;
  }
}

}  // namespace elixir::capture
