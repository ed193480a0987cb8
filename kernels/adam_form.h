// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Names by which the CPU's and the GPU's AdamW are instantiated.

#include <cstdint>

#include "kernels/element.h"

namespace elixir::kernels {

/// Where the master and the parameter are (AdamArrays): the master is the parameter, a separate
/// parameter of some dtype, or both in two halves.
enum class Form : std::uint8_t { kMasterOnly, kFloat32, kBFloat16, kFloat16, kSplit };
template <Form kForm>
inline constexpr Element kParameterType =
    kForm == Form::kBFloat16 || kForm == Form::kSplit ? Element::kBFloat16
    : kForm == Form::kFloat16                         ? Element::kFloat16
                                                      : Element::kFloat32;

/// Dividing by a power of two and multiplying by its inverse give the same bits; the latter is
/// faster.
enum class Scale : std::uint8_t { kNone, kMultiply, kDivide };

}  // namespace elixir::kernels
