// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/data/missing_labels.h"

#include <fmt/format.h>

#include "train/data/token_bound.h"

namespace elixir::train {
namespace {

/// Whether all elements that are targets have the value that the loss ignores.
bool ignores_all(const at::Tensor& input, const TokenBound& bound) {
  const at::Tensor wide = input.to(at::kLong).contiguous();
  const auto* values = wide.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    const auto element = static_cast<std::size_t>(i) % bound.elements.size();
    if (bound.elements[element] && values[i] != *bound.ignored) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> missing_labels(const program::Program& program,
                                          const BatchInputs& micro_batch) {
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    for (const TokenBound& bound : token_bounds(program, i)) {
      if (!bound.ignored || !ignores_all(micro_batch.at(i), bound)) continue;
      return fmt::format("all targets in `{}` are {}, which the loss ignores",
                         program.inputs[i].name,
                         *bound.ignored);
    }
  }
  return std::nullopt;
}

}  // namespace elixir::train
