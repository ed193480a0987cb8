// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Names that other programs use for dtypes. They let an error suggest our name for a dtype.

#include <optional>
#include <string>
#include <string_view>

namespace elixir::program {

/// Our name for another program's: "int64" for "long", "torch.long", "i64", "Int64". nullopt for an
/// unknown name, and for a name that is already ours.
[[nodiscard]] std::optional<std::string> dtype_meant_by(std::string_view name);

/// Help for a wrong `--input NAME:DTYPE[D0,D1,...]`: the same text with our dtype name if the given
/// one is another program's, otherwise an example.
[[nodiscard]] std::string help_for_input(const std::string& text);

}  // namespace elixir::program
