// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Template arguments of the CPU's and the GPU's AdamW.

#include <cstdint>

#include "kernels/element.h"

namespace elixir::kernels {

/// The form of master and parameter (AdamArrays): the master is the parameter, a separate parameter
/// of some dtype, or both in two halves.
enum class Form : std::uint8_t { kMasterOnly, kFloat32, kBFloat16, kFloat16, kSplit };
template <Form kForm>
inline constexpr Element kParameterType =
    kForm == Form::kBFloat16 || kForm == Form::kSplit ? Element::kBFloat16
    : kForm == Form::kFloat16                         ? Element::kFloat16
                                                      : Element::kFloat32;

/// How gradients are scaled. For a power of two, division and multiplication by the inverse give
/// the same bits, and multiplication is faster.
enum class Scale : std::uint8_t { kNone, kMultiply, kDivide };

}  // namespace elixir::kernels
