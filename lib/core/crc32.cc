// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/crc32.h"

#include <array>
#include <cstring>

namespace elixir {

std::uint32_t crc32(std::uint32_t checksum, const void* bytes, std::size_t count) {
  // Processes eight bytes at a time: tables[k] is the effect of a byte followed by k more.
  constexpr std::size_t kAtOnce = 8;
  using Tables = std::array<std::array<std::uint32_t, 256>, kAtOnce>;
  static const Tables tables = [] {
    constexpr std::uint32_t kPolynomial = 0xEDB88320;
    Tables made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value & 1U) != 0 ? kPolynomial ^ value >> 1 : value >> 1;
      }
      made[0][i] = value;
    }
    for (std::size_t k = 1; k < kAtOnce; ++k) {
      for (std::size_t i = 0; i < 256; ++i) {
        made[k][i] = made[0][made[k - 1][i] & 0xFF] ^ made[k - 1][i] >> 8;
      }
    }
    return made;
  }();
  const auto* byte = static_cast<const unsigned char*>(bytes);
  std::uint32_t value = ~checksum;
  for (; count >= kAtOnce; count -= kAtOnce, byte += kAtOnce) {
    std::uint64_t word = 0;
    std::memcpy(&word, byte, sizeof word);
    word ^= value;
    value = 0;
    for (std::size_t k = 0; k < kAtOnce; ++k) {
      value ^= tables[kAtOnce - 1 - k][word >> (8 * k) & 0xFF];
    }
  }
  for (; count > 0; --count, ++byte) value = tables[0][(value ^ *byte) & 0xFF] ^ value >> 8;
  return ~value;
}

}  // namespace elixir
