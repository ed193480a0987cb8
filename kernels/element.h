// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Floating-point types that kernels read and write. Arithmetic is always fp32.

#include <cstddef>
#include <cstdint>

namespace elixir::kernels {

enum class Element : std::uint8_t { kFloat32, kBFloat16, kFloat16 };

[[nodiscard]] constexpr std::size_t bytes_of(Element type) {
  return type == Element::kFloat32 ? 4 : 2;
}
[[nodiscard]] inline const void* element_at(const void* base, Element type, std::size_t i) {
  return static_cast<const char*>(base) + i * bytes_of(type);
}
[[nodiscard]] inline void* element_at(void* base, Element type, std::size_t i) {
  return static_cast<char*>(base) + i * bytes_of(type);
}

}  // namespace elixir::kernels
