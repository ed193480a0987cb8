// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The layers in which device memory is shown: the categories of the program's storages, and the
// scratch memory of kernels and libraries, which has no category.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "memory/step/timeline.h"
#include "program/program.h"

namespace elixir::report {

using Layer = std::optional<program::Category>;  ///< nullopt: scratch memory

/// From the bottom of the stack. What exists all the time comes first.
inline constexpr std::array<Layer, program::kCategoryCount + 1> kLayers{
    program::Category::kParameter,
    program::Category::kBuffer,
    program::Category::kConstant,
    program::Category::kOptimizerState,
    program::Category::kGradient,
    program::Category::kInput,
    program::Category::kActivation,
    program::Category::kTemporary,
    std::nullopt};

/// "optimizer_state", "workspace".
[[nodiscard]] std::string_view layer_key(Layer layer);
/// "optimizer state".
[[nodiscard]] std::string layer_label(Layer layer);

[[nodiscard]] std::int64_t layer_bytes(const memory::Timeline& timeline,
                                       program::OperatorId op,
                                       Layer layer);
[[nodiscard]] std::int64_t layer_at_peak(const memory::Timeline& timeline, Layer layer);
/// The maximum over time.
[[nodiscard]] std::int64_t layer_most(const memory::Timeline& timeline, Layer layer);

}  // namespace elixir::report
