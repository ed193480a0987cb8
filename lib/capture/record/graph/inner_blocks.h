// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a node of a graph holds. Walks that must see all of a model's code ask here.

#include <vector>

#include <torch/csrc/jit/ir/ir.h>

namespace elixir::capture {

/// The blocks of control flow, and those of graphs that are attributes, like what a fork runs.
[[nodiscard]] std::vector<torch::jit::Block*> inner_blocks(torch::jit::Node& node);

}  // namespace elixir::capture
