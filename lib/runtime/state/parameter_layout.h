// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The position of each parameter of a program in a plan's chunks, and how the optimizer treats it.
// Offsets in gradient, master and moment buffers count the same elements as in the parameters'
// chunk.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "program/program.h"

namespace elixir::runtime {

struct ParameterLayout {
  std::int32_t chunk = -1;
  std::int64_t offset_bytes = 0;  ///< in the chunk's dtype
  std::int64_t first_element = 0;
  std::int64_t elements = 0;
  bool trained = false;  ///< has a gradient and optimizer state
  bool decays = false;   ///< weight decay applies
};

/// By position in Program::parameters. `no_decay` lists glob patterns (`*`, `?`) that match any of
/// a parameter's names. Throws kUnsupportedModel for a parameter that is a part of a larger
/// storage.
[[nodiscard]] std::vector<ParameterLayout> lay_out_parameters(
    const program::Program& program,
    const plan::Plan& plan,
    const std::vector<std::string>& no_decay);

/// Whether `text` matches `pattern`: `*` matches any characters, `?` one character, other
/// characters match themselves.
[[nodiscard]] bool matches_glob(std::string_view text, std::string_view pattern);

}  // namespace elixir::runtime
