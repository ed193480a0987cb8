// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Matrix work of one call, computed from its geometry. A multiply-add counts as two operations. 0
// for operators without matrix work.

#include <cstdint>

#include "program/program.h"

namespace elixir::operators {

[[nodiscard]] std::int64_t flops_of(const program::Operator& op);

}  // namespace elixir::operators
