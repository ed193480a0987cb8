// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// AdamW over a flat range, with the same arithmetic on every device (docs/design/arithmetic.md):
// fp32, fused multiply-adds exactly where written, correctly rounded sqrt and division, denormals
// kept, NaN stays NaN:
//   g = gradient / divisor (if divisor != 1) * clip (if clip != 1)
//   m = fma(b1, m, (1-b1)*g);  v = fma(b2, v, ((1-b2)*g)*g);  d = fma(sqrt(v), 1/sqrt(1-b2^t), eps)
//   p = p*(1-lr*wd);  p = fma(-lr/(1-b1^t), m/d, p)
//   output = p in the parameters' dtype (bf16: nearest, ties away from zero)
// `scalar`, `avx2`, `avx512` and CUDA give identical bits for every length and alignment.

#include <cstddef>
#include <cstdint>

#include "kernels/element.h"
#include "kernels/isa.h"

namespace elixir::kernels {

/// The scalars of one step, computed in double and rounded once (make_adam_scalars).
struct AdamScalars {
  float beta1, one_minus_beta1, beta2, one_minus_beta2;
  float inverse_sqrt_bias2;  ///< 1/sqrt(1-b2^t)
  float eps;
  float decay;          ///< 1 - lr*wd; exactly 1 without weight decay
  float negative_step;  ///< -lr/(1-b1^t)
  float divisor;        ///< micro-batches times loss scale; divides gradients
  float clip;           ///< factor of the global-norm clip; 1: off
};

struct AdamHyper {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;
};
[[nodiscard]] AdamScalars make_adam_scalars(const AdamHyper& hyper,
                                            std::int64_t step,
                                            int micro_batches,
                                            float clip,
                                            double loss_scale = 1.0);

/// What a pass writes. First parameters (and masters) alone, then moments alone, from the same
/// moments and gradient: that gives the bits of the whole. A forward pass waits for parameters
/// only.
enum class AdamPass : std::uint8_t { kWhole, kParameters, kMoments };

/// The gradient of the step before, where that step has left the moments as they were. The pass
/// then makes them first, rounded as they are stored, and goes on from there.
struct EarlierGradient {
  const void* values = nullptr;  ///< as the pass's own; nullptr: there is none
  float divisor = 1.0F, clip = 1.0F;
};

/// Flat arrays of n elements. Moments (dtype `moment_type`: fp32 or bf16) are read and written. The
/// master has one of two forms:
/// - separate (`lower` null): `master` is read and written. `parameter` (dtype `parameter_type`) is
///   overwritten. It may be null (fp32 only) when the master is the parameter.
/// - split (`lower` set, `master` null; split_master.h): `parameter` (bf16) is the master's upper
///   half, `lower` its signed lower half. Both are read and written.
/// A pass that writes moments alone does not touch master and parameter. GPUs only do the whole,
/// without an earlier gradient.
struct AdamArrays {
  float* master;
  void* moment1;
  void* moment2;
  const void* gradient;
  Element gradient_type;
  void* parameter;
  Element parameter_type;
  std::size_t n;
  Element moment_type = Element::kFloat32;
  std::int16_t* lower = nullptr;
  AdamPass pass = AdamPass::kWhole;
  EarlierGradient earlier = {};
};
/// Elements [begin, end) of every array.
[[nodiscard]] AdamArrays slice(const AdamArrays& arrays, std::size_t begin, std::size_t end);
/// Bytes per element that a pass reads and writes, each counted once.
[[nodiscard]] std::size_t moved_bytes(const AdamArrays& arrays);

/// How a pass handles values that are not finite. With a loss scale, all gradients are checked
/// before the first pass (gradient.h), so that a step with a value that is not finite changes no
/// state. Without a loss scale, the passes detect them while they run, and the caller must stop.
struct FoundInfinity {
  const std::uint32_t* skip = nullptr;  ///< if not 0, the pass reads and writes nothing
  /// A pass that writes parameters sets it to 1 when a parameter or a second moment, as it is
  /// stored, is not finite; a gradient that is not makes one so. A pass over moments alone sets
  /// nothing. It is never cleared. A GPU may write it in host memory.
  std::uint32_t* report = nullptr;
};

/// Runs on the calling thread.
void adam_cpu(const AdamArrays& arrays,
              const AdamScalars& scalars,
              Isa isa,
              const FoundInfinity& found = {});
/// Splits the range over the pool (thread_pool.h). Same bits for any thread count.
/// `clip` (gradient.h), if given, is read when the pass runs: its factor replaces that of the
/// scalars. When it holds updates back, states keep their values and nothing is reported. A
/// separate parameter is still written from its master, because it may be a place on the way to its
/// home.
class ThreadPool;
struct Clip;
void adam_cpu(const AdamArrays& arrays,
              const AdamScalars& scalars,
              Isa isa,
              ThreadPool& pool,
              const FoundInfinity& found = {},
              const Clip* clip = nullptr);
[[nodiscard]] bool held_back(const Clip* clip);
/// `scalars` with the factor of `clip`, if given.
[[nodiscard]] AdamScalars with_factor(const AdamScalars& scalars, const Clip* clip);

/// As a job (ThreadPool::begin()), whose number it returns. The arrays must live until the job has
/// ended. Jobs that are under way at once must not have arrays in common.
std::uint64_t begin_adam_cpu(const AdamArrays& arrays,
                             const AdamScalars& scalars,
                             Isa isa,
                             ThreadPool& pool,
                             std::uint32_t* report = nullptr);

/// Only the memory accesses of an AdamW pass over `arrays`: reads and writes every array as
/// adam_cpu() would. States keep their values; a parameter of the separate form gets the gradient's
/// bits. Measures how fast AdamW could be if arithmetic were free. Gradient and parameter must be
/// 16 bits wide, or the master is the parameter and the gradient is fp32; otherwise throws
/// std::invalid_argument.
void adam_streams_cpu(const AdamArrays& arrays, Isa isa, ThreadPool& pool);

}  // namespace elixir::kernels
