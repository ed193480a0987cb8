// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A warp's tile of 256 elements. Lane l holds the quads l and l + 32. Memory is read and written 16
// bytes per lane, with neighbouring lanes side by side, for every element width. With a 16-bit type
// a lane then loads the quads 2l and 2l + 1, and shuffles move them to the right lanes. Arrays must
// be aligned to 16 bytes, and all lanes of the warp must take part.

#include <cstddef>
#include <cstdint>

#include "kernels/cuda_element.cuh"

namespace elixir::kernels::cuda {

inline constexpr unsigned kWarp = 32;
inline constexpr std::size_t kTileElements = 256;
inline constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

/// How a tile of 16-bit elements is loaded. Eight bytes per lane need no shuffles, but twice the
/// accesses. That variant is kept for comparison in measurements.
enum class Access { kSixteenBytes, kEightBytes };

/// Two quads of 16-bit elements, as stored.
struct NarrowTile {
  uint2 quad[2];
};
/// Two quads, as fp32.
struct FloatTile {
  float value[8];
};

__device__ __forceinline__ uint2 shuffled_pair(const uint4& pairs, unsigned lane, bool second) {
  const unsigned even_x = __shfl_sync(kWholeWarp, pairs.x, lane);
  const unsigned even_y = __shfl_sync(kWholeWarp, pairs.y, lane);
  const unsigned odd_x = __shfl_sync(kWholeWarp, pairs.z, lane);
  const unsigned odd_y = __shfl_sync(kWholeWarp, pairs.w, lane);
  return second ? make_uint2(odd_x, odd_y) : make_uint2(even_x, even_y);
}

template <Access kAccess>
__device__ __forceinline__ NarrowTile load_narrow(const void* array,
                                                  std::size_t tile,
                                                  unsigned lane) {
  if constexpr (kAccess == Access::kEightBytes) {
    const uint2* quads = static_cast<const uint2*>(array) + tile * 2 * kWarp;
    return {{__ldcs(quads + lane), __ldcs(quads + kWarp + lane)}};
  } else {
    const uint4 pairs = __ldcs(static_cast<const uint4*>(array) + tile * kWarp + lane);
    const bool odd = lane % 2 != 0;
    return {{shuffled_pair(pairs, lane / 2, odd), shuffled_pair(pairs, kWarp / 2 + lane / 2, odd)}};
  }
}

__device__ __forceinline__ uint2 quad_of_lane(const NarrowTile& tile,
                                              unsigned lane,
                                              bool second_half) {
  const unsigned low_x = __shfl_sync(kWholeWarp, tile.quad[0].x, lane);
  const unsigned low_y = __shfl_sync(kWholeWarp, tile.quad[0].y, lane);
  const unsigned high_x = __shfl_sync(kWholeWarp, tile.quad[1].x, lane);
  const unsigned high_y = __shfl_sync(kWholeWarp, tile.quad[1].y, lane);
  return second_half ? make_uint2(high_x, high_y) : make_uint2(low_x, low_y);
}

template <Access kAccess>
__device__ __forceinline__ void store_narrow(void* array,
                                             std::size_t tile,
                                             unsigned lane,
                                             const NarrowTile& value) {
  if constexpr (kAccess == Access::kEightBytes) {
    uint2* quads = static_cast<uint2*>(array) + tile * 2 * kWarp;
    __stcs(quads + lane, value.quad[0]);
    __stcs(quads + kWarp + lane, value.quad[1]);
  } else {
    const unsigned from = 2 * lane % kWarp;
    const bool second_half = lane >= kWarp / 2;
    const uint2 even = quad_of_lane(value, from, second_half);
    const uint2 odd = quad_of_lane(value, from + 1, second_half);
    __stcs(static_cast<uint4*>(array) + tile * kWarp + lane,
           make_uint4(even.x, even.y, odd.x, odd.y));
  }
}

/// The 16 bits of element e of a lane's eight elements.
__device__ __forceinline__ std::uint32_t bits_of(const NarrowTile& tile, int e) {
  const uint2 quad = tile.quad[e / 4];
  const std::uint32_t pair = e % 4 < 2 ? quad.x : quad.y;
  return e % 2 == 0 ? pair & 0xFFFFU : pair >> 16;
}
template <class Function>
__device__ __forceinline__ NarrowTile narrow_from(const FloatTile& values, Function bits) {
  NarrowTile tile;
#pragma unroll
  for (int q = 0; q < 2; ++q) {
    const float* v = values.value + 4 * q;
    tile.quad[q] = make_uint2(bits(v[0]) | bits(v[1]) << 16, bits(v[2]) | bits(v[3]) << 16);
  }
  return tile;
}

template <Element kType, Access kAccess>
__device__ __forceinline__ FloatTile load_tile(const void* array, std::size_t tile, unsigned lane) {
  if constexpr (kType == Element::kFloat32) {
    const float4* quads = static_cast<const float4*>(array) + tile * 2 * kWarp;
    const float4 a = __ldcs(quads + lane), b = __ldcs(quads + kWarp + lane);
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
  } else {
    const NarrowTile stored = load_narrow<kAccess>(array, tile, lane);
    FloatTile values;
#pragma unroll
    for (int e = 0; e < 8; ++e) values.value[e] = to_float<kType>(bits_of(stored, e));
    return values;
  }
}

template <Element kType, Access kAccess>
__device__ __forceinline__ void store_tile(void* array,
                                           std::size_t tile,
                                           unsigned lane,
                                           const FloatTile& values) {
  if constexpr (kType == Element::kFloat32) {
    const float* v = values.value;
    float4* quads = static_cast<float4*>(array) + tile * 2 * kWarp;
    __stcs(quads + lane, make_float4(v[0], v[1], v[2], v[3]));
    __stcs(quads + kWarp + lane, make_float4(v[4], v[5], v[6], v[7]));
  } else {
    store_narrow<kAccess>(
        array, tile, lane, narrow_from(values, [](float v) { return from_float<kType>(v); }));
  }
}

}  // namespace elixir::kernels::cuda
