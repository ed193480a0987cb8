// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// AdamW over a flat range, one arithmetic on every device (docs/design/arithmetic.md): fp32, fused
// multiply-adds exactly where written, correctly rounded sqrt and division, denormals kept, NaN
// stays NaN:
//   g = gradient / divisor (if divisor != 1) * clip (if clip != 1)
//   m = fma(b1, m, (1-b1)*g);  v = fma(b2, v, ((1-b2)*g)*g);  d = fma(sqrt(v), 1/sqrt(1-b2^t), eps)
//   p = p*(1-lr*wd);  p = fma(-lr/(1-b1^t), m/d, p);  output = p in the parameters' dtype (bf16:
//   nearest, ties away)
// `scalar`, `avx2`, `avx512` and CUDA give identical bits for every length and alignment.

#include <cstddef>
#include <cstdint>

#include "kernels/element.h"
#include "kernels/isa.h"

namespace elixir::kernels {

/// Scalars of one step, computed in double and rounded once (make_adam_scalars). Plain fp32 words:
/// a copy in device memory is read by the GPU.
struct AdamScalars {
  float beta1, one_minus_beta1, beta2, one_minus_beta2;
  float inverse_sqrt_bias2;  ///< 1/sqrt(1-b2^t)
  float eps;
  float decay;          ///< 1 - lr*wd; exactly 1 without weight decay
  float negative_step;  ///< -lr/(1-b1^t)
  float divisor;        ///< micro-batches times loss scale; gradients are divided by it
  float clip;           ///< factor of the global-norm clip; 1 when off
};

struct AdamHyper {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;
};
[[nodiscard]] AdamScalars make_adam_scalars(const AdamHyper& hyper,
                                            std::int64_t step,
                                            int micro_batches,
                                            float clip,
                                            double loss_scale = 1.0);

/// Flat arrays of n elements. Moments (dtype `moment_type`: fp32 or bf16) are read and written, and
/// the master in one of two forms:
/// - separate (`lower` null): `master` is read and written; `parameter` (dtype `parameter_type`) is
///   overwritten, and may be null (fp32 only) when the master is the parameter.
/// - split (`lower` set, `master` null; split_master.h): `parameter` (bf16) is the master's upper
///   half, `lower` its signed lower half; both are read and written.
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
};
/// Elements [begin, end) of every array.
[[nodiscard]] AdamArrays slice(const AdamArrays& arrays, std::size_t begin, std::size_t end);
/// Bytes that a pass reads and writes per element, each once.
[[nodiscard]] std::size_t moved_bytes(const AdamArrays& arrays);

/// Values that are not finite. With a loss scale, all gradients are checked before the first pass
/// (gradient.h): that is how a step with one leaves every state untouched. Without, the passes find
/// out in the same pass, and the caller stops.
struct FoundInfinity {
  const std::uint32_t* skip = nullptr;  ///< not 0: the pass reads and writes nothing
  /// Set to 1 by a pass that met or made a value that is not finite: gradient, moment, master or
  /// parameter, each as it is stored. Never cleared. A GPU may write it in host memory.
  std::uint32_t* report = nullptr;
};

/// Runs on the calling thread.
void adam_cpu(const AdamArrays& arrays,
              const AdamScalars& scalars,
              Isa isa,
              const FoundInfinity& found = {});
/// Splits the range statically over the pool (thread_pool.h); same bits for any thread count.
class ThreadPool;
void adam_cpu(const AdamArrays& arrays,
              const AdamScalars& scalars,
              Isa isa,
              ThreadPool& pool,
              const FoundInfinity& found = {});

/// The memory accesses of an AdamW pass over `arrays` and nothing else: every array is read and
/// written as adam_cpu() would, states with what they held, a parameter of the separate form with
/// the gradient's bits. What AdamW could reach if arithmetic were free. Gradient and parameter are
/// 16 bits wide, or the master is the parameter and the gradient is fp32; else
/// std::invalid_argument.
void adam_streams_cpu(const AdamArrays& arrays, Isa isa, ThreadPool& pool);

}  // namespace elixir::kernels
