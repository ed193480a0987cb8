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

namespace elixir::kernels {

enum class Element : std::uint8_t { kFloat32, kBFloat16, kFloat16 };

/// Scalars of one step, computed in double and rounded once (make_adam_scalars).
struct AdamScalars {
  float beta1, one_minus_beta1, beta2, one_minus_beta2;
  float inverse_sqrt_bias2;  ///< 1/sqrt(1-b2^t)
  float eps;
  float decay;          ///< 1 - lr*wd; exactly 1 without weight decay
  float negative_step;  ///< -lr/(1-b1^t)
  float divisor;        ///< micro-batches; gradients are divided by it
  float clip;           ///< factor of the global-norm clip; 1 when off
};

struct AdamHyper {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;
};
[[nodiscard]] AdamScalars make_adam_scalars(const AdamHyper& hyper,
                                            std::int64_t step,
                                            int micro_batches,
                                            float clip);

/// Flat arrays of n elements. `master`, `moment1`, `moment2` are read and written; `parameter`
/// (dtype `parameter_type`) is overwritten, and may be null (fp32 only) when the master is the
/// parameter.
struct AdamArrays {
  float* master;
  float* moment1;
  float* moment2;
  const void* gradient;
  Element gradient_type;
  void* parameter;
  Element parameter_type;
  std::size_t n;
};

enum class Isa : std::uint8_t { kScalar, kAvx2, kAvx512 };
/// Best level of this CPU, or what ELIXIR_ISA (scalar, avx2, avx512) asks for and the CPU has.
[[nodiscard]] Isa best_isa();

/// Runs on the calling thread.
void adam_cpu(const AdamArrays& arrays, const AdamScalars& scalars, Isa isa);
/// Splits the range statically over the pool (thread_pool.h); same bits for any thread count.
class ThreadPool;
void adam_cpu(const AdamArrays& arrays, const AdamScalars& scalars, Isa isa, ThreadPool& pool);

}  // namespace elixir::kernels
