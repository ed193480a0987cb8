// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Random initial weights, by the exporter's recipe (docs/formats/initialization.md) or by default
// rules.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/random.h"
#include "kernels/thread_pool.h"
#include "program/program.h"

namespace elixir::train {

/// The rule for one parameter.
using Initializer = kernels::Distribution;

/// Rules by parameter name. kJson… errors name the archive's file.
using InitializationRecipe = std::map<std::string, Initializer>;
[[nodiscard]] InitializationRecipe parse_recipe(const std::string& json, const std::string& name);
/// The rule without a recipe: 1 for a one-dimensional `weight`, 0 for a `bias`, else normal(0,
/// 0.02).
[[nodiscard]] Initializer default_initializer(const program::Parameter& parameter);
/// A contiguous tensor of `sizes` and `dtype`. The values depend only on seed, name and element,
/// never on threads, machine or device. They are drawn in `dtype` by all threads of `pool`.
[[nodiscard]] at::Tensor initialize(const Initializer& rule,
                                    const std::string& name,
                                    std::uint64_t seed,
                                    const std::vector<std::int64_t>& sizes,
                                    program::DType dtype,
                                    kernels::ThreadPool& pool);

}  // namespace elixir::train
