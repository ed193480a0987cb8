// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// AdamW on the GPU, with the same bits as on the CPU. Every operation is an intrinsic with its own
// correct rounding, so neither contraction nor fast-math flags can change it.

#include <cstddef>
#include <cstdint>

#include "kernels/adam.h"
#include "kernels/adam_form.h"
#include "kernels/cuda_kernels.h"
#include "kernels/cuda_launch.h"
#include "kernels/cuda_tile.cuh"

namespace elixir::kernels::cuda {

/// The arguments of one launch.
struct AdamLaunch {
  AdamArrays arrays;
  AdamScalars scalars;
  const Clip* clip;
  FoundInfinity found;
  bool aligned;  ///< every array is aligned to 16 bytes
};

[[nodiscard]] inline bool aligned_to_16(const AdamArrays& arrays) {
  const void* all[] = {arrays.master,
                       arrays.moment1,
                       arrays.moment2,
                       arrays.gradient,
                       arrays.parameter,
                       arrays.lower};  // null counts as aligned
  for (const void* array : all) {
    if (reinterpret_cast<std::uintptr_t>(array) % 16 != 0) return false;
  }
  return true;
}

struct AdamStep {
  AdamScalars s;
  float inverse_divisor;
  Scale scale;
};

__device__ __forceinline__ AdamStep make_step(const AdamScalars& s) {
  const std::uint32_t bits = __float_as_uint(s.divisor);
  const std::uint32_t exponent = bits >> 23;  // includes the sign, so that negative ones divide
  const bool power_of_two = (bits & 0x007FFFFFU) == 0 && exponent >= 1 && exponent <= 253;
  const bool scales = s.divisor != 1.0F || s.clip != 1.0F;
  return {s,
          __frcp_rn(s.divisor),
          !scales        ? Scale::kNone
          : power_of_two ? Scale::kMultiply
                         : Scale::kDivide};
}

/// The value that is read after a store as `kType`.
template <Element kType>
__device__ __forceinline__ float as_stored(float value) {
  if constexpr (kType == Element::kFloat32) {
    return value;
  } else {
    return to_float<kType>(from_float<kType>(value));
  }
}

/// `suspect` becomes NaN as on the CPU (adam_body.h): when the parameter or the second moment is
/// not finite once it is stored.
template <Element kParameter, Element kMoment>
__device__ __forceinline__ void adam_element(
    float& p, float& m, float& v, float g, const AdamStep& step, float& suspect) {
  const AdamScalars& s = step.s;
  if (step.scale == Scale::kMultiply) {
    g = __fmul_rn(__fmul_rn(g, step.inverse_divisor), s.clip);
  } else if (step.scale == Scale::kDivide) {
    g = __fmul_rn(__fdiv_rn(g, s.divisor), s.clip);
  }
  m = __fmaf_rn(s.beta1, m, __fmul_rn(s.one_minus_beta1, g));
  v = __fmaf_rn(s.beta2, v, __fmul_rn(__fmul_rn(s.one_minus_beta2, g), g));
  const float d = __fmaf_rn(__fsqrt_rn(v), s.inverse_sqrt_bias2, s.eps);
  p = __fmaf_rn(s.negative_step, __fdiv_rn(m, d), __fmul_rn(p, s.decay));
  suspect = __fmaf_rn(as_stored<kParameter>(p), 0.0F, suspect);
  suspect = __fmaf_rn(as_stored<kMoment>(v), 0.0F, suspect);
}

template <Element kGradient, Form kForm, Element kMoment, Access kAccess>
__device__ __forceinline__ void adam_tile(const AdamArrays& arrays,
                                          std::size_t tile,
                                          unsigned lane,
                                          const AdamStep& step,
                                          float& suspect) {
  FloatTile p;
  if constexpr (kForm == Form::kSplit) {
    const NarrowTile upper = load_narrow<kAccess>(arrays.parameter, tile, lane);
    const NarrowTile lower = load_narrow<kAccess>(arrays.lower, tile, lane);
#pragma unroll
    for (int e = 0; e < 8; ++e) p.value[e] = join(bits_of(upper, e), bits_of(lower, e));
  } else {
    p = load_tile<Element::kFloat32, kAccess>(arrays.master, tile, lane);
  }
  FloatTile m = load_tile<kMoment, kAccess>(arrays.moment1, tile, lane);
  FloatTile v = load_tile<kMoment, kAccess>(arrays.moment2, tile, lane);
  const FloatTile g = load_tile<kGradient, kAccess>(arrays.gradient, tile, lane);
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    adam_element<kParameterType<kForm>, kMoment>(
        p.value[e], m.value[e], v.value[e], g.value[e], step, suspect);
  }
  store_tile<kMoment, kAccess>(arrays.moment1, tile, lane, m);
  store_tile<kMoment, kAccess>(arrays.moment2, tile, lane, v);
  if constexpr (kForm == Form::kSplit) {
    store_narrow<kAccess>(
        arrays.lower, tile, lane, narrow_from(p, [](float x) { return lower_half(x); }));
  } else {
    store_tile<Element::kFloat32, kAccess>(arrays.master, tile, lane, p);
  }
  if constexpr (kForm != Form::kMasterOnly) {
    store_tile<kParameterType<kForm>, kAccess>(arrays.parameter, tile, lane, p);
  }
}

template <Element kGradient, Form kForm, Element kMoment>
__device__ __forceinline__ void adam_single(const AdamArrays& arrays,
                                            std::size_t i,
                                            const AdamStep& step,
                                            float& suspect) {
  float p;
  if constexpr (kForm == Form::kSplit) {
    p = join(static_cast<const std::uint16_t*>(arrays.parameter)[i],
             static_cast<std::uint16_t>(arrays.lower[i]));
  } else {
    p = arrays.master[i];
  }
  float m = load<kMoment>(arrays.moment1, i), v = load<kMoment>(arrays.moment2, i);
  adam_element<kParameterType<kForm>, kMoment>(
      p, m, v, load<kGradient>(arrays.gradient, i), step, suspect);
  store<kMoment>(arrays.moment1, i, m);
  store<kMoment>(arrays.moment2, i, v);
  if constexpr (kForm == Form::kSplit) {
    arrays.lower[i] = static_cast<std::int16_t>(lower_half(p));
  } else {
    arrays.master[i] = p;
  }
  if constexpr (kForm != Form::kMasterOnly) store<kParameterType<kForm>>(arrays.parameter, i, p);
}

/// What an update that is held back leaves: a separate parameter made from its master.
template <Form kForm>
__device__ void write_parameter(const AdamArrays& arrays, std::size_t thread, std::size_t threads) {
  if constexpr (kForm != Form::kMasterOnly && kForm != Form::kSplit) {
    for (std::size_t i = thread; i < arrays.n; i += threads) {
      store<kParameterType<kForm>>(arrays.parameter, i, arrays.master[i]);
    }
  }
}

// AdamW over n elements (adam.h). Memory bound: moved_bytes() per element. A warp strides over
// tiles of 256 elements, with any grid. The rest after the last whole tile goes element by element;
// so does everything when an array is not aligned.
template <Element kGradient, Form kForm, Element kMoment, Access kAccess>
__global__ void __launch_bounds__(kThreadsOfEight) adam_kernel(const AdamLaunch launch) {
  if (launch.found.skip != nullptr && *launch.found.skip != 0) return;
  const AdamArrays& arrays = launch.arrays;
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  AdamScalars scalars = launch.scalars;
  if (launch.clip != nullptr) {
    if (launch.clip->held_back != 0) return write_parameter<kForm>(arrays, thread, threads);
    scalars.clip = launch.clip->factor;
  }
  const AdamStep step = make_step(scalars);
  const std::size_t tiles = launch.aligned ? arrays.n / kTileElements : 0;
  float suspect = 0.0F;
  for (std::size_t tile = thread / kWarp; tile < tiles; tile += threads / kWarp) {
    adam_tile<kGradient, kForm, kMoment, kAccess>(arrays, tile, threadIdx.x % kWarp, step, suspect);
  }
  for (std::size_t i = tiles * kTileElements + thread; i < arrays.n; i += threads) {
    adam_single<kGradient, kForm, kMoment>(arrays, i, step, suspect);
  }
  // A plain store is enough, because all writers write the same value. Host memory does not have
  // atomics on every machine.
  if (launch.found.report != nullptr && suspect != suspect) {
    *static_cast<volatile std::uint32_t*>(launch.found.report) = 1U;
  }
}

template <Element kGradient, Form kForm, Element kMoment, Access kAccess>
void launch_adam(const AdamLaunch& launch, CudaStream stream) {
  const std::size_t threads_wanted =
      launch.aligned ? launch.arrays.n / kTileElements * kWarp + kTileElements : launch.arrays.n;
  adam_kernel<kGradient, kForm, kMoment, kAccess>
      <<<blocks_for(threads_wanted, kThreadsOfEight), kThreadsOfEight, 0, stream>>>(launch);
  check_launch("adam_cuda");
}

}  // namespace elixir::kernels::cuda
