// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/graph/inner_blocks.h"

namespace elixir::capture {

std::vector<torch::jit::Block*> inner_blocks(torch::jit::Node& node) {
  std::vector<torch::jit::Block*> blocks = node.blocks().vec();
  for (const c10::Symbol attribute : node.attributeNames()) {
    if (node.kindOf(attribute) == torch::jit::AttributeKind::g) {
      blocks.push_back(node.g(attribute)->block());
    }
  }
  return blocks;
}

}  // namespace elixir::capture
