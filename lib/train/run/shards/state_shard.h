// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One tensor of the training state, as several ranks hold it. Elements are counted in the order of
// memory, which `strides` gives.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "program/program.h"
#include "runtime/state_part.h"

namespace elixir::train {

struct StateShard {
  std::string name;
  program::DType dtype = program::DType::kFloat32;
  std::vector<std::int64_t> sizes, strides;  ///< of the whole tensor; dense
  /// What each rank saves, by rank: together the whole tensor, each element once.
  std::vector<runtime::HeldElements> saved;
  runtime::HeldElements needed;                  ///< what this rank restores
  std::function<at::Tensor()> read;              ///< what this rank saves, in one dimension
  std::function<void(const at::Tensor&)> write;  ///< takes what it needs, likewise
};

}  // namespace elixir::train
