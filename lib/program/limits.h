// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The largest program: sums over its storages and operators fit into 64 bits, with optimizer state
// and rounding.

namespace elixir::program {

inline constexpr long double kMostBytes = 0x1p60L;
inline constexpr long double kMostFlops = 0x1p62L;

}  // namespace elixir::program
