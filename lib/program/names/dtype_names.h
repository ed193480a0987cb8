// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Names that other programs give to dtypes, to answer whoever writes one with ours.

#include <optional>
#include <string>
#include <string_view>

namespace elixir::program {

/// "int64" for "long", "torch.long", "i64", "Int64"; nullopt for what nobody calls a dtype, and for
/// our own names.
[[nodiscard]] std::optional<std::string> dtype_meant_by(std::string_view name);

/// What to say to a wrong `--input NAME:DTYPE[D0,D1,...]`: the same with the dtype's name in place
/// of another one's, else an example.
[[nodiscard]] std::string help_for_input(const std::string& text);

}  // namespace elixir::program
