// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The words of hardware documents for the dtypes that rates are measured in. Programs and plans
// have other words (`name_of(program::DType)`).

#include "core/name_table.h"
#include "program/program.h"

namespace elixir::hardware {

inline constexpr NameTable<program::DType, 3> kRateDTypes{{{program::DType::kBFloat16, "bf16"},
                                                           {program::DType::kFloat16, "fp16"},
                                                           {program::DType::kFloat32, "fp32"}}};

}  // namespace elixir::hardware
