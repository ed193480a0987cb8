// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Softmax cross entropy on the GPU (cross_entropy.h). One block per row. Sums run in a fixed order,
// so that the bits are the same in every run; the CPU's bits differ.
#include "kernels/cuda_element.cuh"
#include "kernels/cuda_kernels.h"
#include "kernels/cuda_launch.h"

namespace elixir::kernels {
namespace {

constexpr int kRowThreads = 512;
constexpr int kSumThreads = 1024;
constexpr int kQuadsAtOnce = 4;  // loads of a thread in flight

__device__ __forceinline__ std::size_t place(RowStatistic statistic,
                                             const CrossEntropyRows& of,
                                             std::size_t row) {
  return static_cast<std::size_t>(statistic) * of.rows + row;
}

__device__ __forceinline__ std::size_t row_start(const CrossEntropyRows& of, std::size_t row) {
  return row * (of.row_stride == 0 ? of.classes : of.row_stride);
}

/// The part of label smoothing that each class gets.
__device__ __forceinline__ double smoothing_of_class(const CrossEntropyRows& of) {
  return of.label_smoothing / static_cast<double>(of.classes);
}

struct Partial {
  float largest, sum;  // sum of e^(x - largest)
};

// With a largest of -inf nothing was added yet: e^(-inf - -inf) would be NaN.
__device__ __forceinline__ Partial join_partials(Partial a, Partial b) {
  if (a.largest == -INFINITY) return b;
  if (b.largest == -INFINITY) return a;
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, __fadd_rn(a.sum * expf(a.largest - largest), b.sum * expf(b.largest - largest))};
}

/// The logits of a row that are worked on four at once. Rows need not begin at a multiple of four.
/// Which logit belongs to which thread depends on the position alone, so that the bits do not
/// depend on the address; only the width of the accesses does.
struct Quads {
  std::size_t first;  // of the row's logits that are in quads, from the row's first
  std::size_t count;
};
__device__ __forceinline__ Quads quads_of(std::size_t start, std::size_t n) {
  const std::size_t before = (4 - start % 4) % 4;
  return before >= n ? Quads{n, 0} : Quads{before, (n - before) / 4};
}
template <Element kType>
__device__ __forceinline__ float4 load_quad(const void* logits, std::size_t quad, bool aligned) {
  if (aligned) return cuda::load_four<kType>(logits, quad);
  return {cuda::load<kType>(logits, 4 * quad),
          cuda::load<kType>(logits, 4 * quad + 1),
          cuda::load<kType>(logits, 4 * quad + 2),
          cuda::load<kType>(logits, 4 * quad + 3)};
}
template <Element kType>
__device__ __forceinline__ void store_quad(void* logits,
                                           std::size_t quad,
                                           bool aligned,
                                           float4 value) {
  if (aligned) {
    cuda::store_four<kType>(logits, quad, value);
    return;
  }
  cuda::store<kType>(logits, 4 * quad, value.x);
  cuda::store<kType>(logits, 4 * quad + 1, value.y);
  cuda::store<kType>(logits, 4 * quad + 2, value.z);
  cuda::store<kType>(logits, 4 * quad + 3, value.w);
}

/// The logarithm's parts of the logits that one thread has seen.
struct Seen {
  Partial partial{-INFINITY, 0.0F};
  bool nan = false;

  __device__ __forceinline__ void raise(float largest) {
    if (largest <= partial.largest) return;
    partial.sum *= expf(partial.largest - largest);
    partial.largest = largest;
  }
  /// `x` is at most `partial.largest`, or a NaN.
  __device__ __forceinline__ void add(float x) {
    nan = nan || x != x;
    if (partial.largest != -INFINITY) {
      partial.sum = __fadd_rn(partial.sum, expf(x - partial.largest));
    }
  }
  __device__ __forceinline__ void see(float x) {
    raise(x);
    add(x);
  }
  template <int kCount>
  __device__ __forceinline__ void see(const float4 (&quads)[kCount]) {
    float largest = -INFINITY;
#pragma unroll
    for (const float4& q : quads) {
      largest = fmaxf(largest, fmaxf(fmaxf(q.x, q.y), fmaxf(q.z, q.w)));
    }
    raise(largest);
#pragma unroll
    for (const float4& q : quads) {
      add(q.x);
      add(q.y);
      add(q.z);
      add(q.w);
    }
  }
};

/// What label smoothing needs of the logits that one thread has seen. The sum of all logits may be
/// far larger than the loss that comes from it, so it is fp64.
struct WeightedLogits {
  double logits = 0, weights = 0;

  __device__ __forceinline__ void add(const CrossEntropyRows& of, std::size_t c, float x) {
    if (of.weights == nullptr) {
      logits += x;
      return;
    }
    const double weight = of.weights[c];
    logits += weight * x;
    weights += weight;
  }
  __device__ __forceinline__ void add(const CrossEntropyRows& of, std::size_t c, float4 x) {
    add(of, c, x.x);
    add(of, c + 1, x.y);
    add(of, c + 2, x.z);
    add(of, c + 3, x.w);
  }
};

/// The sum over a block's threads, in a fixed order. Every thread gets it, and every thread must
/// call.
__device__ __forceinline__ double sum_of_block(double value, double* shared) {
  __syncthreads();
  shared[threadIdx.x] = value;
  for (int half = kRowThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  __syncthreads();
  return shared[0];
}

// statistics (kStatistics, rows). Memory bound: reads each logit once, with several loads of each
// thread in flight. A target that is no class gives a NaN.
template <Element kType, bool kSmooth>
__global__ void __launch_bounds__(kRowThreads)
    row_losses_kernel(CrossEntropyRows of, bool aligned, float* statistics) {
  __shared__ Partial partials[kRowThreads];
  __shared__ bool not_a_number;
  const std::size_t row = blockIdx.x;
  const std::size_t first = row_start(of, row);
  const Quads quads = quads_of(first, of.classes);
  if (threadIdx.x == 0) not_a_number = false;
  __syncthreads();
  Seen seen;
  WeightedLogits all;
  const auto see_one = [&](std::size_t c) {
    const float x = cuda::load<kType>(of.logits, first + c);
    seen.see(x);
    if constexpr (kSmooth) all.add(of, c, x);
  };
  for (std::size_t c = threadIdx.x; c < quads.first; c += kRowThreads) see_one(c);
  const std::size_t first_quad = (first + quads.first) / 4;
  std::size_t q = threadIdx.x;
  for (; q + (kQuadsAtOnce - 1) * kRowThreads < quads.count; q += kQuadsAtOnce * kRowThreads) {
    float4 loaded[kQuadsAtOnce];
#pragma unroll
    for (int i = 0; i < kQuadsAtOnce; ++i) {
      loaded[i] = load_quad<kType>(of.logits, first_quad + q + i * kRowThreads, aligned);
    }
    seen.see(loaded);
    if constexpr (kSmooth) {
#pragma unroll
      for (int i = 0; i < kQuadsAtOnce; ++i) {
        all.add(of, quads.first + 4 * (q + i * kRowThreads), loaded[i]);
      }
    }
  }
  for (; q < quads.count; q += kRowThreads) {
    const float4 loaded[1] = {load_quad<kType>(of.logits, first_quad + q, aligned)};
    seen.see(loaded);
    if constexpr (kSmooth) all.add(of, quads.first + 4 * q, loaded[0]);
  }
  for (std::size_t c = quads.first + 4 * quads.count + threadIdx.x; c < of.classes;
       c += kRowThreads) {
    see_one(c);
  }
  if (seen.nan) not_a_number = true;
  partials[threadIdx.x] = seen.partial;
  for (int half = kRowThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      partials[threadIdx.x] = join_partials(partials[threadIdx.x], partials[threadIdx.x + half]);
    }
  }
  if constexpr (kSmooth) {
    __shared__ double sums[kRowThreads];
    all.logits = sum_of_block(all.logits, sums);
    all.weights =
        of.weights == nullptr ? static_cast<double>(of.classes) : sum_of_block(all.weights, sums);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  const double log_sum = not_a_number ? nan("") : log(static_cast<double>(partials[0].sum));
  statistics[place(RowStatistic::kLargest, of, row)] = partials[0].largest;
  statistics[place(RowStatistic::kLogSum, of, row)] = static_cast<float>(log_sum);
  const std::int64_t target = of.targets[row];
  float loss = 0.0F;
  if (target != of.ignore_index) {
    if (target < 0 || target >= static_cast<std::int64_t>(of.classes)) {
      loss = nanf("");
    } else {
      const float x = cuda::load<kType>(of.logits, first + static_cast<std::size_t>(target));
      const double below = static_cast<double>(partials[0].largest) - x;
      const float weight = of.weights == nullptr ? 1.0F : of.weights[target];
      if constexpr (kSmooth) {
        const double logarithm = partials[0].largest + log_sum;
        loss = static_cast<float>((1 - of.label_smoothing) * weight * (below + log_sum) +
                                  smoothing_of_class(of) * (all.weights * logarithm - all.logits));
      } else {
        loss = static_cast<float>(below + log_sum) * weight;
      }
    }
  }
  statistics[place(RowStatistic::kLoss, of, row)] = loss;
}

// The loss of all rows, or each row's, and the sum of their weights, in one block.
template <Element kLoss>
__global__ void __launch_bounds__(kSumThreads)
    sum_losses_kernel(CrossEntropyRows of, const float* statistics, void* loss, float* weight) {
  __shared__ double losses[kSumThreads];
  __shared__ double weights[kSumThreads];
  double loss_sum = 0, weight_sum = 0;
  for (std::size_t row = threadIdx.x; row < of.rows; row += kSumThreads) {
    const std::int64_t target = of.targets[row];
    const float row_loss = statistics[place(RowStatistic::kLoss, of, row)];
    if (of.reduction == LossReduction::kNone) cuda::store<kLoss>(loss, row, row_loss);
    if (target == of.ignore_index) continue;
    loss_sum += row_loss;
    const bool is_class = target >= 0 && target < static_cast<std::int64_t>(of.classes);
    weight_sum += of.weights == nullptr || !is_class ? 1.0F : of.weights[target];
  }
  losses[threadIdx.x] = loss_sum;
  weights[threadIdx.x] = weight_sum;
  for (int half = kSumThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      losses[threadIdx.x] += losses[threadIdx.x + half];
      weights[threadIdx.x] += weights[threadIdx.x + half];
    }
  }
  if (threadIdx.x != 0) return;
  if (of.reduction != LossReduction::kNone) {
    const bool mean = of.reduction == LossReduction::kMean;
    cuda::store<kLoss>(loss, 0, static_cast<float>(mean ? losses[0] / weights[0] : losses[0]));
  }
  *weight = static_cast<float>(weights[0]);
}

/// One gradient as fp32.
__device__ __forceinline__ float load_gradient(const LossGradients& gradients, std::size_t row) {
  const std::size_t at = row * gradients.stride;
  switch (gradients.type) {
    case Element::kBFloat16:
      return cuda::load<Element::kBFloat16>(gradients.values, at);
    case Element::kFloat16:
      return cuda::load<Element::kFloat16>(gradients.values, at);
    case Element::kFloat32:
      break;
  }
  return cuda::load<Element::kFloat32>(gradients.values, at);
}

/// For every thread of a block.
__device__ __forceinline__ SmoothedGradient smoothed_gradient_of(const CrossEntropyRows& of,
                                                                 std::int64_t target,
                                                                 float scale) {
  __shared__ double sums[kRowThreads];
  double weights = static_cast<double>(of.classes);
  if (of.weights != nullptr) {
    weights = 0;
    for (std::size_t c = threadIdx.x; c < of.classes; c += kRowThreads) weights += of.weights[c];
    weights = sum_of_block(weights, sums);
  }
  const double each = smoothing_of_class(of);
  const double of_target =
      (1 - of.label_smoothing) * (of.weights == nullptr ? 1.0F : of.weights[target]);
  return {static_cast<float>(scale * (of_target + each * weights)),
          static_cast<float>(scale * each),
          static_cast<float>(scale * of_target)};
}

// Logits become gradients. Memory bound: reads and writes each once.
template <Element kType, bool kSmooth>
__global__ void __launch_bounds__(kRowThreads) row_gradients_kernel(CrossEntropyRows of,
                                                                    bool aligned,
                                                                    const float* statistics,
                                                                    LossGradients gradients,
                                                                    const float* weight) {
  const std::size_t row = blockIdx.x;
  const std::size_t first = row_start(of, row);
  const std::int64_t target = of.targets[row];
  const bool is_class = target >= 0 && target < static_cast<std::int64_t>(of.classes);
  if (target == of.ignore_index || !is_class) {
    const float value = target == of.ignore_index ? 0.0F : nanf("");
    for (std::size_t c = threadIdx.x; c < of.classes; c += kRowThreads) {
      cuda::store<kType>(of.logits, first + c, value);
    }
    return;
  }
  float scale = load_gradient(gradients, row);
  if (of.reduction == LossReduction::kMean) scale = __fdiv_rn(scale, *weight);
  SmoothedGradient smoothed;
  if constexpr (kSmooth) {
    smoothed = smoothed_gradient_of(of, target, scale);
  } else if (of.weights != nullptr) {
    scale *= of.weights[target];
  }
  const float largest = statistics[place(RowStatistic::kLargest, of, row)];
  const float log_sum = statistics[place(RowStatistic::kLogSum, of, row)];
  const auto gradient_of = [&](float x, std::size_t c) {
    const float p = expf(x - largest - log_sum);
    const bool is_target = static_cast<std::int64_t>(c) == target;
    if constexpr (kSmooth) {
      const float of_class =
          of.weights == nullptr ? smoothed.of_class : __fmul_rn(smoothed.of_class, of.weights[c]);
      const float less = is_target ? __fadd_rn(of_class, smoothed.of_target) : of_class;
      return __fmaf_rn(smoothed.of_probability, p, -less);
    } else {
      return __fmul_rn(is_target ? __fadd_rn(p, -1.0F) : p, scale);
    }
  };
  const auto replace = [&](std::size_t c) {
    const float x = cuda::load<kType>(of.logits, first + c);
    cuda::store<kType>(of.logits, first + c, gradient_of(x, c));
  };
  const Quads quads = quads_of(first, of.classes);
  for (std::size_t c = threadIdx.x; c < quads.first; c += kRowThreads) replace(c);
  const std::size_t first_quad = (first + quads.first) / 4;
  const auto replace_quad = [&](std::size_t q, float4 x) {
    const std::size_t c = quads.first + 4 * q;
    const float4 made = {gradient_of(x.x, c),
                         gradient_of(x.y, c + 1),
                         gradient_of(x.z, c + 2),
                         gradient_of(x.w, c + 3)};
    store_quad<kType>(of.logits, first_quad + q, aligned, made);
  };
  std::size_t q = threadIdx.x;
  for (; q + (kQuadsAtOnce - 1) * kRowThreads < quads.count; q += kQuadsAtOnce * kRowThreads) {
    float4 loaded[kQuadsAtOnce];
#pragma unroll
    for (int i = 0; i < kQuadsAtOnce; ++i) {
      loaded[i] = load_quad<kType>(of.logits, first_quad + q + i * kRowThreads, aligned);
    }
#pragma unroll
    for (int i = 0; i < kQuadsAtOnce; ++i) replace_quad(q + i * kRowThreads, loaded[i]);
  }
  for (; q < quads.count; q += kRowThreads) {
    replace_quad(q, load_quad<kType>(of.logits, first_quad + q, aligned));
  }
  for (std::size_t c = quads.first + 4 * quads.count + threadIdx.x; c < of.classes;
       c += kRowThreads) {
    replace(c);
  }
}

/// Calls `launch` with the element type as a template argument.
template <class Launch>
void dispatch_element(Element type, Launch launch) {
  switch (type) {
    case Element::kFloat32:
      launch.template operator()<Element::kFloat32>();
      return;
    case Element::kBFloat16:
      launch.template operator()<Element::kBFloat16>();
      return;
    case Element::kFloat16:
      launch.template operator()<Element::kFloat16>();
      return;
  }
}

/// Calls `launch` with whether labels are smoothed as a template argument.
template <class Launch>
void dispatch_smoothing(const CrossEntropyRows& of, Launch launch) {
  if (of.label_smoothing != 0) {
    launch.template operator()<true>();
  } else {
    launch.template operator()<false>();
  }
}

}  // namespace

void cross_entropy_cuda(const CrossEntropyRows& of,
                        float* statistics,
                        void* loss,
                        Element loss_type,
                        float* weight,
                        CudaStream stream) {
  if (of.rows != 0) {
    const bool aligned = cuda::aligned_for_four(of.logits, of.type);
    dispatch_smoothing(of, [&]<bool kSmooth>() {
      dispatch_element(of.type, [&]<Element kType>() {
        row_losses_kernel<kType, kSmooth>
            <<<static_cast<unsigned>(of.rows), kRowThreads, 0, stream>>>(of, aligned, statistics);
      });
    });
    cuda::check_launch("cross_entropy_cuda");
  }
  dispatch_element(loss_type, [&]<Element kLoss>() {
    sum_losses_kernel<kLoss><<<1, kSumThreads, 0, stream>>>(of, statistics, loss, weight);
  });
  cuda::check_launch("cross_entropy_cuda");
}

void cross_entropy_gradient_cuda(const CrossEntropyRows& of,
                                 const float* statistics,
                                 const LossGradients& gradients,
                                 const float* weight,
                                 CudaStream stream) {
  if (of.rows == 0) return;
  const bool aligned = cuda::aligned_for_four(of.logits, of.type);
  dispatch_smoothing(of, [&]<bool kSmooth>() {
    dispatch_element(of.type, [&]<Element kType>() {
      row_gradients_kernel<kType, kSmooth>
          <<<static_cast<unsigned>(of.rows), kRowThreads, 0, stream>>>(
              of, aligned, statistics, gradients, weight);
    });
  });
  cuda::check_launch("cross_entropy_gradient_cuda");
}

}  // namespace elixir::kernels
