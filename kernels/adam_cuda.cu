// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// AdamW on the GPU, bit for bit that of the CPU: every operation is an intrinsic with its own
// correct rounding, so neither contraction nor fast-math flags can change it.
#include "kernels/cuda_element.cuh"
#include "kernels/cuda_kernels.h"
#include "kernels/cuda_launch.h"

namespace elixir::kernels {
namespace {

enum class Output { kNone, kStore };
enum class Scale { kNone, kDivideAndClip };
enum class Access { kFour, kOne };

template <Scale kScale>
__device__ __forceinline__ void update(
    float& p, float& m, float& v, float g, const AdamScalars& s) {
  if constexpr (kScale == Scale::kDivideAndClip) g = __fmul_rn(__fdiv_rn(g, s.divisor), s.clip);
  m = __fmaf_rn(s.beta1, m, __fmul_rn(s.one_minus_beta1, g));
  v = __fmaf_rn(s.beta2, v, __fmul_rn(__fmul_rn(s.one_minus_beta2, g), g));
  const float d = __fmaf_rn(__fsqrt_rn(v), s.inverse_sqrt_bias2, s.eps);
  p = __fmaf_rn(s.negative_step, __fdiv_rn(m, d), __fmul_rn(p, s.decay));
}

// AdamW over n elements (adam.h). All arrays (n); master, moments read and overwritten, parameter
// overwritten. Memory bound: 24 B of state, the gradient's and the parameter's 2 or 4 B per
// element. Grid-stride, any grid; with kFour, four elements a thread and turn: arrays aligned to
// four elements; the last n % 4 go one by one.
template <Element kGradient, Element kParameter, Output kOutput, Scale kScale, Access kAccess>
__global__ void __launch_bounds__(cuda::kThreads)
    adam_kernel(const AdamArrays arrays, const AdamScalars s) {
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::size_t done = 0;
  if constexpr (kAccess == Access::kFour) {
    const std::size_t quads = arrays.n / 4;
    for (std::size_t i = thread; i < quads; i += threads) {
      float4 p = cuda::load_four<Element::kFloat32>(arrays.master, i);
      float4 m = cuda::load_four<Element::kFloat32>(arrays.moment1, i);
      float4 v = cuda::load_four<Element::kFloat32>(arrays.moment2, i);
      const float4 g = cuda::load_four<kGradient>(arrays.gradient, i);
      update<kScale>(p.x, m.x, v.x, g.x, s);
      update<kScale>(p.y, m.y, v.y, g.y, s);
      update<kScale>(p.z, m.z, v.z, g.z, s);
      update<kScale>(p.w, m.w, v.w, g.w, s);
      cuda::store_four<Element::kFloat32>(arrays.master, i, p);
      cuda::store_four<Element::kFloat32>(arrays.moment1, i, m);
      cuda::store_four<Element::kFloat32>(arrays.moment2, i, v);
      if constexpr (kOutput == Output::kStore) {
        cuda::store_four<kParameter>(arrays.parameter, i, p);
      }
    }
    done = quads * 4;
  }
  for (std::size_t i = done + thread; i < arrays.n; i += threads) {
    float p = arrays.master[i], m = arrays.moment1[i], v = arrays.moment2[i];
    update<kScale>(p, m, v, cuda::load<kGradient>(arrays.gradient, i), s);
    arrays.master[i] = p;
    arrays.moment1[i] = m;
    arrays.moment2[i] = v;
    if constexpr (kOutput == Output::kStore) cuda::store<kParameter>(arrays.parameter, i, p);
  }
}

template <Element kGradient, Element kParameter, Output kOutput, Scale kScale>
void launch(const AdamArrays& arrays, const AdamScalars& scalars, CudaStream stream) {
  const bool four =
      cuda::aligned_for_four(arrays.master, Element::kFloat32) &&
      cuda::aligned_for_four(arrays.moment1, Element::kFloat32) &&
      cuda::aligned_for_four(arrays.moment2, Element::kFloat32) &&
      cuda::aligned_for_four(arrays.gradient, kGradient) &&
      (kOutput == Output::kNone || cuda::aligned_for_four(arrays.parameter, kParameter));
  if (four) {
    adam_kernel<kGradient, kParameter, kOutput, kScale, Access::kFour>
        <<<cuda::grid_blocks(arrays.n / 4), cuda::kThreads, 0, stream>>>(arrays, scalars);
  } else {
    adam_kernel<kGradient, kParameter, kOutput, kScale, Access::kOne>
        <<<cuda::grid_blocks(arrays.n), cuda::kThreads, 0, stream>>>(arrays, scalars);
  }
  cuda::check_launch("adam_cuda");
}

template <Element kGradient, Element kParameter, Output kOutput>
void launch_scaled(const AdamArrays& arrays, const AdamScalars& scalars, CudaStream stream) {
  // Division by 1 and multiplication by 1 are exact, so one variant serves both factors.
  if (scalars.divisor != 1.0F || scalars.clip != 1.0F) {
    launch<kGradient, kParameter, kOutput, Scale::kDivideAndClip>(arrays, scalars, stream);
  } else {
    launch<kGradient, kParameter, kOutput, Scale::kNone>(arrays, scalars, stream);
  }
}

template <Element kGradient>
void launch_typed(const AdamArrays& arrays, const AdamScalars& scalars, CudaStream stream) {
  if (arrays.parameter == nullptr) {
    launch_scaled<kGradient, Element::kFloat32, Output::kNone>(arrays, scalars, stream);
    return;
  }
  switch (arrays.parameter_type) {
    case Element::kFloat32:
      launch_scaled<kGradient, Element::kFloat32, Output::kStore>(arrays, scalars, stream);
      return;
    case Element::kBFloat16:
      launch_scaled<kGradient, Element::kBFloat16, Output::kStore>(arrays, scalars, stream);
      return;
    case Element::kFloat16:
      launch_scaled<kGradient, Element::kFloat16, Output::kStore>(arrays, scalars, stream);
      return;
  }
}

}  // namespace

void adam_cuda(const AdamArrays& arrays, const AdamScalars& scalars, CudaStream stream) {
  if (arrays.n == 0) return;
  switch (arrays.gradient_type) {
    case Element::kFloat32:
      launch_typed<Element::kFloat32>(arrays, scalars, stream);
      return;
    case Element::kBFloat16:
      launch_typed<Element::kBFloat16>(arrays, scalars, stream);
      return;
    case Element::kFloat16:
      launch_typed<Element::kFloat16>(arrays, scalars, stream);
      return;
  }
}

}  // namespace elixir::kernels
