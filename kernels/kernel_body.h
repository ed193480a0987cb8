// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The CPU kernels are written once, over a vector type `Simd`. The translation unit of each
// instruction set defines that type in an anonymous namespace, which gives every instantiation
// internal linkage. Otherwise the linker could use an AVX-512 instance in place of the scalar one.
// For the same reason, the bodies must not call inline functions of the standard library.
//
// Simd: kWidth; Float; load, store, broadcast, add, multiply, divide, larger (b for a NaN),
// square_root, fused (a*b+c);
// load_bfloat16, load_float16; store_bfloat16, store_float16; stream_bfloat16, stream_float16
// (aligned, bypassing the cache); join, store_lower (split_master.h; the upper half is
// store_bfloat16); Int (32-bit lanes), broadcast_int, lanes (0, 1, …), add_int, subtract_int,
// xor_int, and_int, shift_left, shift_right (zeros come in), multiply_wide (both halves of the
// products), to_float (signed, rounded to nearest), bits_of, float_of (random_body.h); kRawBytes,
// load_raw, store_raw, stream_raw, opaque (streams_body.h); prefetch; fence.
//
// Fewer elements than a vector or block go through a zero-padded copy and the same instructions, so
// that lengths and alignments cannot change bits.

#include "kernels/adam_body.h"
#include "kernels/conversion_body.h"
#include "kernels/cross_entropy_body.h"
#include "kernels/kernel_table.h"
#include "kernels/label_smoothing_body.h"
#include "kernels/norm_body.h"
#include "kernels/random_body.h"
#include "kernels/streams_body.h"

namespace elixir::kernels::body {

template <class Simd>
constexpr KernelTable make_table() {
  return {
      &adam<Simd>,
      &adam_streams<Simd>,
      &sum_squares_block<Simd>,
      &all_finite<Simd>,
      &accumulate<Simd>,
      &convert<Simd>,
      &split<Simd>,
      &join<Simd>,
      &fill_random<Simd>,
      &softmax_sum<Simd>,
      &softmax_gradient<Simd>,
      &sum_below<Simd>,
      &smoothed_gradient<Simd>,
  };
}

}  // namespace elixir::kernels::body
