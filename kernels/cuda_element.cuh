// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Element types on the device: loads to fp32 and stores from it, one element or four at once, with
// the rounding of docs/design/arithmetic.md. Four elements need an address that is a multiple of
// their size (16 or 8 bytes). All accesses are streaming (.cs), because nothing is read again soon.

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/adam.h"

namespace elixir::kernels::cuda {

template <Element kType>
struct Stored {
  using Type = std::uint16_t;
  using Four = uint2;
};
template <>
struct Stored<Element::kFloat32> {
  using Type = float;
  using Four = float4;
};

/// Rounds to nearest, ties away from zero, by adding half a unit to the magnitude. A NaN is
/// truncated and kept quiet.
__device__ __forceinline__ std::uint32_t to_bfloat16(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return (nan ? bits | 0x00400000U : bits + 0x8000U) >> 16;
}

template <Element kType>
__device__ __forceinline__ float to_float(std::uint32_t stored) {
  if constexpr (kType == Element::kBFloat16) {
    return __uint_as_float(stored << 16);
  } else {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(stored)));
  }
}
template <Element kType>
__device__ __forceinline__ std::uint32_t from_float(float value) {
  if constexpr (kType == Element::kBFloat16) {
    return to_bfloat16(value);
  } else {
    return __half_as_ushort(__float2half_rn(value));
  }
}

/// Converts a master from its halves and back (split_master.h).
__device__ __forceinline__ float join(std::uint32_t upper, std::uint32_t lower) {
  const auto rest = static_cast<std::int32_t>(static_cast<std::int16_t>(lower));
  return __uint_as_float((upper << 16) + static_cast<std::uint32_t>(rest));
}
__device__ __forceinline__ std::uint32_t lower_half(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  return (bits & 0x7FFFFFFFU) > 0x7F800000U ? 0U : bits & 0xFFFFU;
}

/// The fp32 value of an element as it is stored.
template <Element kType>
__device__ __forceinline__ float widen(typename Stored<kType>::Type stored) {
  if constexpr (kType == Element::kFloat32) {
    return stored;
  } else {
    return to_float<kType>(stored);
  }
}
template <Element kType>
__device__ __forceinline__ float4 widen_four(typename Stored<kType>::Four stored) {
  if constexpr (kType == Element::kFloat32) {
    return stored;
  } else {
    return make_float4(to_float<kType>(stored.x & 0xFFFFU),
                       to_float<kType>(stored.x >> 16),
                       to_float<kType>(stored.y & 0xFFFFU),
                       to_float<kType>(stored.y >> 16));
  }
}

template <Element kType>
__device__ __forceinline__ float load(const void* array, std::size_t i) {
  using Type = typename Stored<kType>::Type;
  return widen<kType>(__ldcs(static_cast<const Type*>(array) + i));
}
template <Element kType>
__device__ __forceinline__ void store(void* array, std::size_t i, float value) {
  using Type = typename Stored<kType>::Type;
  if constexpr (kType == Element::kFloat32) {
    __stcs(static_cast<Type*>(array) + i, value);
  } else {
    __stcs(static_cast<Type*>(array) + i, static_cast<Type>(from_float<kType>(value)));
  }
}

template <Element kType>
__device__ __forceinline__ float4 load_four(const void* array, std::size_t quad) {
  using Four = typename Stored<kType>::Four;
  return widen_four<kType>(__ldcs(static_cast<const Four*>(array) + quad));
}
template <Element kType>
__device__ __forceinline__ void store_four(void* array, std::size_t quad, float4 value) {
  using Four = typename Stored<kType>::Four;
  if constexpr (kType == Element::kFloat32) {
    __stcs(static_cast<Four*>(array) + quad, value);
  } else {
    __stcs(static_cast<Four*>(array) + quad,
           make_uint2(from_float<kType>(value.x) | from_float<kType>(value.y) << 16,
                      from_float<kType>(value.z) | from_float<kType>(value.w) << 16));
  }
}

}  // namespace elixir::kernels::cuda
