// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The design's arithmetic, written a second time, by value instead of by bits. Slow and simple. It
// shares no code with kernels/, because the kernels are compared with it.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace elixir::reference {

inline std::uint32_t bits(float value) {
  std::uint32_t out = 0;
  std::memcpy(&out, &value, sizeof out);
  return out;
}
inline float from_bits(std::uint32_t value) {
  float out = 0;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

inline float bfloat16_value(std::uint16_t stored) {
  const double sign = (stored & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = (stored >> 7) & 0xFF;
  const int fraction = stored & 0x7F;
  if (exponent == 0xFF) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : static_cast<float>(sign * std::numeric_limits<double>::infinity());
  }
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -133) : std::ldexp(128 + fraction, exponent - 134);
  return static_cast<float>(std::copysign(magnitude, sign));
}

inline float float16_value(std::uint16_t stored) {
  const double sign = (stored & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = (stored >> 10) & 0x1F;
  const int fraction = stored & 0x3FF;
  if (exponent == 0x1F) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : static_cast<float>(sign * std::numeric_limits<double>::infinity());
  }
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return static_cast<float>(std::copysign(magnitude, sign));
}

enum class Ties { kAwayFromZero, kToEven };

/// Rounds a finite value to a binary format with `fraction_bits` and the smallest exponent `least`
/// (of its unit in the last place, for denormals), in units of that place. Everything here is exact
/// in double.
inline double round_to_format(double value, int fraction_bits, int least_unit, Ties ties) {
  int exponent = 0;
  std::frexp(value, &exponent);  // value = f * 2^exponent, 0.5 <= |f| < 1
  const int unit = std::max(exponent - 1 - fraction_bits, least_unit);
  const double scaled = std::ldexp(value, -unit);
  const double down = std::floor(std::fabs(scaled));
  const double rest = std::fabs(scaled) - down;
  const bool up = ties == Ties::kAwayFromZero
                      ? rest >= 0.5
                      : rest > 0.5 || (rest == 0.5 && std::fmod(down, 2.0) != 0.0);
  return std::copysign(std::ldexp(down + (up ? 1.0 : 0.0), unit), value);
}

/// The encoding of a value that the format represents exactly; infinity beyond `largest`.
inline std::uint16_t encode(double value, int fraction_bits, int exponent_bits, double largest) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude > largest) {
    return static_cast<std::uint16_t>(sign | (((1 << exponent_bits) - 1) << fraction_bits));
  }
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  if (magnitude < std::ldexp(1.0, 1 - bias)) {  // zero, denormal
    return static_cast<std::uint16_t>(
        sign | static_cast<int>(std::ldexp(magnitude, bias - 1 + fraction_bits)));
  }
  const int fraction =
      static_cast<int>(std::ldexp(magnitude, fraction_bits - exponent + 1)) - (1 << fraction_bits);
  return static_cast<std::uint16_t>(sign | ((exponent - 1 + bias) << fraction_bits) | fraction);
}

inline std::uint16_t to_bfloat16(float value) {
  if (std::isnan(value)) return 0x7FC0;
  if (std::isinf(value)) return value > 0 ? 0x7F80 : 0xFF80;
  const double largest = static_cast<double>(bfloat16_value(0x7F7F));
  return encode(round_to_format(value, 7, -133, Ties::kAwayFromZero), 7, 8, largest);
}
inline std::uint16_t to_float16(float value) {
  if (std::isnan(value)) return 0x7E00;
  if (std::isinf(value)) return value > 0 ? 0x7C00 : 0xFC00;
  return encode(round_to_format(value, 10, -24, Ties::kToEven), 10, 5, 65504.0);
}

/// The split form of a master: its bf16, and the distance from it in units of the last place.
struct Split {
  std::uint16_t upper;
  std::int16_t lower;
};
inline Split split(float master) {
  const std::uint16_t upper = to_bfloat16(master);
  if (std::isnan(master)) return {upper, 0};
  const std::int64_t rest = static_cast<std::int64_t>(bits(master)) - (std::int64_t{upper} << 16);
  return {upper, static_cast<std::int16_t>(rest)};
}
inline float join(const Split& halves) {
  return from_bits(static_cast<std::uint32_t>(std::int64_t{halves.upper} * 65536 + halves.lower));
}

struct Hyper {
  double lr, beta1, beta2, eps, weight_decay;
};

/// One parameter, one step. `divisor` and `clip` apply to the gradient only if they are not 1.
inline void adam(float& p,
                 float& m,
                 float& v,
                 float gradient,
                 const Hyper& h,
                 int step,
                 float divisor,
                 float clip) {
  volatile float g = gradient;  // volatile: every rounding really happens
  if (divisor != 1.0F) g = g / divisor;
  if (clip != 1.0F) g = g * clip;
  const float beta1 = static_cast<float>(h.beta1), beta2 = static_cast<float>(h.beta2);
  const float rest1 = static_cast<float>(1.0 - h.beta1), rest2 = static_cast<float>(1.0 - h.beta2);
  volatile float rest1_g = rest1 * g;
  m = std::fmaf(beta1, m, rest1_g);
  volatile float rest2_g = rest2 * g;
  volatile float rest2_gg = rest2_g * g;
  v = std::fmaf(beta2, v, rest2_gg);
  const float inverse =
      static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(h.beta2, static_cast<double>(step))));
  volatile float root = std::sqrt(v);
  const float d = std::fmaf(root, inverse, static_cast<float>(h.eps));
  volatile float decayed = p * static_cast<float>(1.0 - h.lr * h.weight_decay);
  volatile float ratio = m / d;
  const float negative_step =
      static_cast<float>(-h.lr / (1.0 - std::pow(h.beta1, static_cast<double>(step))));
  p = std::fmaf(negative_step, ratio, decayed);
}

/// The sum of squares of one block by the specification: 1,024 lanes, zero padding, pairwise.
inline float block_sum_squares(const std::vector<float>& values, float divisor) {
  std::vector<float> lane(1024, 0.0F);
  for (std::size_t i = 0; i < 65536; ++i) {
    volatile float g = i < values.size() ? values[i] : 0.0F;
    if (divisor != 1.0F) g = g / divisor;
    lane[i % 1024] = std::fmaf(g, g, lane[i % 1024]);
  }
  for (int h = 512; h >= 1; h /= 2) {
    for (int l = 0; l < h; ++l) lane[l] = lane[l] + lane[l + h];
  }
  return lane[0];
}

/// Same bits; any NaN equals any NaN.
inline bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || bits(a) == bits(b);
}
inline bool same_bfloat16(std::uint16_t a, std::uint16_t b) {
  const auto nan = [](std::uint16_t x) { return (x & 0x7FFF) > 0x7F80; };
  return (nan(a) && nan(b)) || a == b;
}
inline bool same_float16(std::uint16_t a, std::uint16_t b) {
  const auto nan = [](std::uint16_t x) { return (x & 0x7FFF) > 0x7C00; };
  return (nan(a) && nan(b)) || a == b;
}

}  // namespace elixir::reference
