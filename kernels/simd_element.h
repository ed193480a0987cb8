// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Shared by the bodies of the CPU kernels: loads and stores of element types with a vector type
// `Simd`, and the thread's floating-point mode. Only the translation units of the instruction sets
// may include it (kernel_body.h describes Simd, and why nothing of the standard library is called
// here).

#include <xmmintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/element.h"

namespace elixir::kernels::body {

inline constexpr std::size_t kBlockElements = 32;  // one cache line of a 16-bit type
inline constexpr std::size_t kPrefetchElements = 1024;
inline constexpr std::size_t kCacheLineBytes = 64;

/// Sets rounding to nearest and keeps denormals, whatever mode the thread had. Restores it at the
/// end.
class DefaultFloatState {
 public:
  DefaultFloatState() : saved_(_mm_getcsr()) { _mm_setcsr(kDefault); }
  ~DefaultFloatState() { _mm_setcsr(saved_); }
  DefaultFloatState(const DefaultFloatState&) = delete;
  DefaultFloatState& operator=(const DefaultFloatState&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1F80;
  unsigned saved_;
};

template <Element kType>
struct StoredAs {
  using Type = std::uint16_t;
};
template <>
struct StoredAs<Element::kFloat32> {
  using Type = float;
};
template <Element kType>
using Stored = typename StoredAs<kType>::Type;

/// The number 1 as it is stored.
template <Element kType>
inline constexpr Stored<kType> kStoredOne = kType == Element::kFloat32    ? 1
                                            : kType == Element::kBFloat16 ? 0x3F80
                                                                          : 0x3C00;

template <class Simd, Element kType>
typename Simd::Float load_as(const Stored<kType>* from) {
  if constexpr (kType == Element::kFloat32) {
    return Simd::load(from);
  } else if constexpr (kType == Element::kBFloat16) {
    return Simd::load_bfloat16(from);
  } else {
    return Simd::load_float16(from);
  }
}

template <class Simd, Element kType>
void store_as(Stored<kType>* to, typename Simd::Float value) {
  if constexpr (kType == Element::kFloat32) {
    Simd::store(to, value);
  } else if constexpr (kType == Element::kBFloat16) {
    Simd::store_bfloat16(to, value);
  } else {
    Simd::store_float16(to, value);
  }
}

/// Stores bypassing the caches. `to` must be aligned to the vector. fp32 cannot bypass them: its
/// line is read first.
template <class Simd, Element kType>
void stream_as(Stored<kType>* to, typename Simd::Float value) {
  if constexpr (kType == Element::kBFloat16) {
    Simd::stream_bfloat16(to, value);
  } else {
    static_assert(kType == Element::kFloat16, "no streaming store");
    Simd::stream_float16(to, value);
  }
}

/// Prefetches `elements` elements at `from`, which may lie beyond the array.
template <class Simd, class Type>
void prefetch_elements(const Type* from, std::size_t elements) {
  for (std::size_t i = 0; i < elements; i += kCacheLineBytes / sizeof(Type)) {
    Simd::prefetch(from + i);
  }
}

}  // namespace elixir::kernels::body
