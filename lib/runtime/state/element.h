// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the kernels call a program's dtypes, and where elements are.

#include <cstdint>
#include <optional>

#include "kernels/element.h"
#include "program/program.h"

namespace elixir::runtime {

/// nullopt for dtypes that the kernels do not know.
[[nodiscard]] std::optional<kernels::Element> element_if_known(program::DType dtype);

/// kUnsupportedModel for dtypes without AdamW.
[[nodiscard]] kernels::Element element_of(program::DType dtype);

/// `bytes` behind `memory`.
[[nodiscard]] inline char* advance(void* memory, std::int64_t bytes) {
  return static_cast<char*>(memory) + bytes;
}

}  // namespace elixir::runtime
