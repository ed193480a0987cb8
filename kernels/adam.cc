// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/adam.h"

#include <cmath>
#include <stdexcept>

#include "kernels/gradient.h"
#include "kernels/kernel_table.h"
#include "kernels/thread_pool.h"

namespace elixir::kernels {
namespace {

// Whole cache lines of every array, and enough work to make waking a thread worthwhile.
constexpr std::size_t kAdamGrainElements = 8192;

bool skipped(const FoundInfinity& found) {
  return found.skip != nullptr && *found.skip != 0;
}

/// As after an update that changes nothing.
void write_parameter(const AdamArrays& arrays, ThreadPool& pool) {
  if (arrays.master == nullptr || arrays.parameter == nullptr) return;
  convert_cpu(arrays.parameter, arrays.parameter_type, arrays.master, arrays.n, pool);
}

ThreadPool::Body pieces(const AdamArrays& arrays,
                        const AdamScalars& scalars,
                        Isa isa,
                        std::uint32_t* report) {
  return [=, &table = kernel_table(isa)](std::size_t begin, std::size_t end) {
    table.adam(slice(arrays, begin, end), scalars, report);
  };
}

}  // namespace

bool held_back(const Clip* clip) {
  return clip != nullptr && clip->held_back != 0;
}

AdamScalars with_factor(const AdamScalars& scalars, const Clip* clip) {
  AdamScalars clipped = scalars;
  if (clip != nullptr) clipped.clip = clip->factor;
  return clipped;
}

AdamScalars make_adam_scalars(
    const AdamHyper& hyper, std::int64_t step, int micro_batches, float clip, double loss_scale) {
  const double t = static_cast<double>(step);
  const double bias1 = 1.0 - std::pow(hyper.beta1, t);
  const double bias2 = 1.0 - std::pow(hyper.beta2, t);
  return {
      static_cast<float>(hyper.beta1),
      static_cast<float>(1.0 - hyper.beta1),
      static_cast<float>(hyper.beta2),
      static_cast<float>(1.0 - hyper.beta2),
      static_cast<float>(1.0 / std::sqrt(bias2)),
      static_cast<float>(hyper.eps),
      static_cast<float>(1.0 - hyper.lr * hyper.weight_decay),
      static_cast<float>(-hyper.lr / bias1),
      static_cast<float>(micro_batches * loss_scale),
      clip,
  };
}

AdamArrays slice(const AdamArrays& arrays, std::size_t begin, std::size_t end) {
  AdamArrays part = arrays;
  if (part.master != nullptr) part.master += begin;
  if (part.lower != nullptr) part.lower += begin;
  part.moment1 = element_at(arrays.moment1, arrays.moment_type, begin);
  part.moment2 = element_at(arrays.moment2, arrays.moment_type, begin);
  part.gradient = element_at(arrays.gradient, arrays.gradient_type, begin);
  if (arrays.earlier.values != nullptr) {
    part.earlier.values = element_at(arrays.earlier.values, arrays.gradient_type, begin);
  }
  if (part.parameter != nullptr) {
    part.parameter = element_at(arrays.parameter, arrays.parameter_type, begin);
  }
  part.n = end - begin;
  return part;
}

std::size_t moved_bytes(const AdamArrays& arrays) {
  const std::size_t moments = 2 * bytes_of(arrays.moment_type);  // read, and written by some passes
  const std::size_t gradient =
      (arrays.earlier.values != nullptr ? 2 : 1) * bytes_of(arrays.gradient_type);
  if (arrays.pass == AdamPass::kMoments) return 2 * moments + gradient;
  const std::size_t parameter =
      arrays.parameter == nullptr ? 0 : bytes_of(arrays.parameter_type);  // written
  const std::size_t master = arrays.lower != nullptr
                                 ? 2 * sizeof(std::int16_t) + parameter  // both read, lower written
                                 : 2 * sizeof(float);
  const std::size_t writes_moments = arrays.pass == AdamPass::kWhole ? moments : 0;
  return master + parameter + moments + writes_moments + gradient;
}

void adam_cpu(const AdamArrays& arrays,
              const AdamScalars& scalars,
              Isa isa,
              const FoundInfinity& found) {
  if (skipped(found)) return;
  kernel_table(isa).adam(arrays, scalars, found.report);
}

void adam_cpu(const AdamArrays& arrays,
              const AdamScalars& scalars,
              Isa isa,
              ThreadPool& pool,
              const FoundInfinity& found,
              const Clip* clip) {
  if (skipped(found)) return;
  if (held_back(clip)) {
    if (arrays.pass != AdamPass::kMoments) write_parameter(arrays, pool);
    return;
  }
  pool.parallel_for(
      arrays.n, kAdamGrainElements, pieces(arrays, with_factor(scalars, clip), isa, found.report));
}

std::uint64_t begin_adam_cpu(const AdamArrays& arrays,
                             const AdamScalars& scalars,
                             Isa isa,
                             ThreadPool& pool,
                             std::uint32_t* report) {
  return pool.begin(arrays.n, kAdamGrainElements, pieces(arrays, scalars, isa, report));
}

void adam_streams_cpu(const AdamArrays& arrays, Isa isa, ThreadPool& pool) {
  const bool same_width = arrays.parameter == nullptr ? arrays.gradient_type == Element::kFloat32
                                                      : bytes_of(arrays.gradient_type) == 2 &&
                                                            bytes_of(arrays.parameter_type) == 2;
  if (!same_width) throw std::invalid_argument("adam_streams_cpu: no streams of these dtypes");
  const KernelTable& table = kernel_table(isa);
  pool.parallel_for(arrays.n, kAdamGrainElements, [&](std::size_t begin, std::size_t end) {
    table.adam_streams(slice(arrays, begin, end));
  });
}

}  // namespace elixir::kernels
