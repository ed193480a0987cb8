// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/scratch/reduction_scratch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "core/units.h"

namespace elixir::operators {
namespace {

constexpr std::int64_t kMostThreads = 512;
constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kVector = 4;

struct Dimension {
  std::int64_t size = 1;
  std::int64_t input_stride = 0, output_stride = 0;  ///< elements; output's is 0 where reduced
};

/// The dimensions in the order of the tensor iterator: reduced ones first, then by strides.
/// Neighbours that form one block of memory are merged.
std::vector<Dimension> iterated(const program::TensorRef& input, const std::vector<bool>& reduced) {
  const std::size_t rank = input.sizes.size();
  std::vector<Dimension> dimensions(rank);
  std::int64_t output_stride = 1;
  for (std::size_t i = rank; i-- > 0;) {
    dimensions[i] = {input.sizes[i], input.strides[i], reduced[i] ? 0 : output_stride};
    if (!reduced[i]) output_stride *= input.sizes[i];
  }
  // 1: `a` comes after `b`; -1: before; 0: undecided.
  const auto compare = [](const Dimension& a, const Dimension& b) {
    if ((a.output_stride == 0) != (b.output_stride == 0)) return b.output_stride == 0 ? 1 : -1;
    for (const auto& [first, second] :
         {std::pair(a.output_stride, b.output_stride), std::pair(a.input_stride, b.input_stride)}) {
      if (first == 0 || second == 0) continue;
      if (first != second) return first < second ? -1 : 1;
      if (a.size > b.size) return 1;
    }
    return 0;
  };
  std::reverse(dimensions.begin(), dimensions.end());
  for (std::size_t i = 1; i < dimensions.size(); ++i) {
    std::size_t moving = i;
    for (std::size_t before = i; before-- > 0;) {
      const int order = compare(dimensions[before], dimensions[moving]);
      if (order < 0) break;
      if (order > 0) {
        std::swap(dimensions[before], dimensions[moving]);
        moving = before;
      }
    }
  }
  std::vector<Dimension> merged;
  for (const Dimension& next : dimensions) {
    if (!merged.empty()) {
      Dimension& last = merged.back();
      const bool one_block = last.size * last.input_stride == next.input_stride &&
                             last.size * last.output_stride == next.output_stride;
      if (last.size == 1) {
        last = next;
        continue;
      }
      if (next.size == 1) continue;
      if (one_block) {
        last.size *= next.size;
        continue;
      }
    }
    merged.push_back(next);
  }
  return merged;
}

/// What one kernel reduces.
struct Part {
  std::vector<Dimension> dimensions;
  std::int64_t first_element = 0;  ///< of the input, from the start of its storage
};

/// The widest vector that can read neighbouring outputs together. Storages are aligned.
std::int64_t output_vector(const Part& part, std::size_t first_kept) {
  const std::vector<Dimension>& dimensions = part.dimensions;
  std::int64_t width = kVector;
  const auto narrow_to = [&width](std::int64_t n) {
    while (n % width != 0) width /= 2;
  };
  narrow_to(part.first_element);
  narrow_to(dimensions[first_kept].size);
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    if (i != first_kept) narrow_to(dimensions[i].input_stride);
  }
  return width;
}

/// TensorIterator::can_use_32bit_indexing.
bool within_32_bits(const Part& part, const ReducedDTypes& dtypes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::int64_t elements = 1;
  std::int64_t input_end = 1;
  std::int64_t output_end = 1;
  for (const Dimension& dimension : part.dimensions) {
    elements *= dimension.size;
    input_end += (dimension.size - 1) * dimension.input_stride * dtypes.input_bytes;
    output_end += (dimension.size - 1) * dimension.output_stride * dtypes.result_bytes;
  }
  return elements <= kMost && input_end <= kMost && output_end <= kMost;
}

/// TensorIterator::get_dim_to_split: of those that span most bytes, the outermost.
std::size_t dimension_to_split(const Part& part, const ReducedDTypes& dtypes) {
  std::int64_t most = -1;
  std::size_t widest = 0;
  for (std::size_t i = part.dimensions.size(); i-- > 0;) {
    const Dimension& dimension = part.dimensions[i];
    for (const std::int64_t stride : {dimension.output_stride * dtypes.result_bytes,
                                      dimension.input_stride * dtypes.input_bytes}) {
      const std::int64_t extent = (dimension.size - 1) * stride;
      if (extent <= most) continue;
      most = extent;
      widest = i;
    }
  }
  return widest;
}

/// SplitUntil32Bit: the first half is halved further before the second one. nullopt where no memory
/// holds what is reduced.
std::optional<std::vector<Part>> parts_within_32_bits(Part whole, const ReducedDTypes& dtypes) {
  constexpr std::size_t kMostParts = 4096;
  std::vector<Part> waiting{std::move(whole)};
  std::vector<Part> parts;
  while (!waiting.empty()) {
    Part& rest = waiting.back();
    if (within_32_bits(rest, dtypes)) {
      parts.push_back(std::move(rest));
      waiting.pop_back();
      continue;
    }
    const std::size_t at = dimension_to_split(rest, dtypes);
    const std::int64_t half = rest.dimensions[at].size / 2;
    if (half == 0 || parts.size() == kMostParts) return std::nullopt;
    Part first = rest;
    first.dimensions[at].size = half;
    rest.dimensions[at].size -= half;
    rest.first_element += half * rest.dimensions[at].input_stride;
    waiting.push_back(std::move(first));
  }
  return parts;
}

std::int64_t outputs_of(const std::vector<Dimension>& dimensions) {
  std::int64_t outputs = 1;
  for (const Dimension& dimension : dimensions) {
    if (dimension.output_stride != 0) outputs *= dimension.size;
  }
  return outputs;
}

/// setReduceConfig, and ReduceConfig::global_memory_size and semaphore_size.
ReductionScratch scratch_of(const Part& part,
                            std::int64_t accumulator_bytes,
                            const CudaTraits& traits) {
  constexpr std::int64_t kFewestValues = 16;
  constexpr std::int64_t kMostValues = 256;
  const std::vector<Dimension>& dimensions = part.dimensions;
  const auto reduced_count = static_cast<std::size_t>(
      std::count_if(dimensions.begin(), dimensions.end(), [](const Dimension& dimension) {
        return dimension.output_stride == 0;
      }));
  const std::int64_t outputs = outputs_of(dimensions);
  std::int64_t inputs = 1;
  for (const Dimension& dimension : dimensions) {
    if (dimension.output_stride == 0) inputs *= dimension.size;
  }

  bool along_fastest = true;
  std::int64_t dim0 = 1;
  std::int64_t dim1 = 1;
  std::int64_t fastest_stride = 1;
  if (!dimensions.empty()) {
    along_fastest = reduced_count == dimensions.size() ||
                    (reduced_count > 0 &&
                     dimensions.front().input_stride < dimensions[reduced_count].input_stride);
    dim0 = along_fastest ? inputs : outputs;
    dim1 = along_fastest ? outputs : inputs;
    fastest_stride =
        along_fastest ? dimensions.front().input_stride : dimensions[reduced_count].input_stride;
  }
  std::int64_t vector = 1;
  if (fastest_stride == 1) {
    constexpr std::int64_t kWorthVectors = 128;
    if (along_fastest && dim0 >= kWorthVectors && reduced_count == 1) {
      dim0 /= kVector;
    } else if (!along_fastest) {
      vector = output_vector(part, reduced_count);
      dim0 /= vector;
    }
  }

  const std::int64_t most_threads = kMostThreads / vector;
  const auto bounded = [most_threads](std::int64_t n) {
    return n < most_threads ? power_of_two_up_to(n) : most_threads;
  };
  std::int64_t width = std::min(bounded(dim0), kWarp);
  const std::int64_t height = std::min(bounded(dim1), most_threads / width);
  width = std::min(bounded(dim0), most_threads / height);

  std::int64_t step_input = 1;
  std::int64_t step_output = 1;
  (along_fastest ? step_input : step_output) *= width;
  const auto values = [&] { return ceil_div(inputs, step_input); };
  const bool across_warps = values() >= std::min(height * kFewestValues, kMostValues);
  (across_warps ? step_input : step_output) *= height;
  const std::int64_t grid = ceil_div(outputs / vector, step_output);
  const std::int64_t target =
      traits.assumed_multiprocessors() * (traits.threads_per_multiprocessor / (width * height));
  if (!across_warps || values() < kMostValues || grid > target) return {};
  const std::int64_t blocks =
      std::max(std::min(ceil_div(target, grid), ceil_div(values(), kFewestValues)),
               ceil_div(values(), kMostValues));
  if (blocks <= 1) return {};
  ReductionScratch scratch;
  scratch.buffer_bytes = accumulator_bytes * outputs * blocks;
  if (!along_fastest) scratch.buffer_bytes *= width * vector;
  scratch.semaphores_bytes = static_cast<std::int64_t>(sizeof(std::int32_t)) * grid;
  return scratch;
}

}  // namespace

ReductionRequests reduction_requests(const program::TensorRef& input,
                                     const std::vector<std::int64_t>& wanted,
                                     const ReducedDTypes& dtypes,
                                     const CudaTraits& traits) {
  const auto rank = static_cast<std::int64_t>(input.sizes.size());
  std::vector<bool> reduced(static_cast<std::size_t>(rank), wanted.empty());
  for (const std::int64_t d : wanted) {
    const std::int64_t at = d < 0 ? d + rank : d;
    if (at >= 0 && at < rank) reduced[static_cast<std::size_t>(at)] = true;
  }
  if (input.numel() == 0) return {};
  Part whole{.dimensions = iterated(input, reduced), .first_element = input.offset};
  ReductionRequests requests;
  if (!dtypes.sums_in_result && !within_32_bits(whole, dtypes)) {
    requests.sums_bytes = outputs_of(whole.dimensions) * dtypes.accumulator_bytes;
  }
  const auto parts = parts_within_32_bits(std::move(whole), dtypes);
  requests.known = parts.has_value();
  for (const Part& part : parts.value_or(std::vector<Part>{})) {
    requests.kernels.push_back(scratch_of(part, dtypes.accumulator_bytes, traits));
  }
  return requests;
}

}  // namespace elixir::operators
