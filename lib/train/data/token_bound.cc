// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/data/token_bound.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "program/arguments/arguments.h"
#include "train/data/element_flow.h"

namespace elixir::train {
namespace {

std::string describe_table(const program::Program& program, const program::TensorRef& table) {
  for (const program::Parameter& parameter : program.parameters) {
    if (parameter.tensor.storage == table.storage) {
      return fmt::format("parameter `{}` has {} rows", parameter.name, table.sizes[0]);
    }
  }
  return fmt::format("an embedding table has {} rows", table.sizes[0]);
}

/// Marks the elements that keep their value, of any row. False when there are none.
bool mark(const std::vector<Element>& read, std::vector<bool>& elements) {
  bool any = false;
  for (const Element& element : read) {
    if (!element.keeps_value()) continue;
    elements[static_cast<std::size_t>(element.position()) % elements.size()] = true;
    any = true;
  }
  return any;
}

}  // namespace

std::vector<TokenBound> token_bounds(const program::Program& program, std::size_t input) {
  std::vector<TokenBound> bounds;
  const program::TensorRef& tensor = program.inputs.at(input).tensor;
  const std::int64_t rows = tensor.sizes.empty() ? 1 : tensor.sizes[0];
  if (rows == 0 || tensor.numel() == 0) return bounds;
  ElementFlow flow(tensor);
  const auto add = [&](const program::TensorRef* read, TokenBound bound) {
    const std::vector<Element> elements = flow.elements(read);
    if (elements.empty()) return;
    bound.elements.resize(static_cast<std::size_t>(tensor.numel() / rows));
    if (!mark(elements, bound.elements)) return;
    const auto same = std::find_if(bounds.begin(), bounds.end(), [&](const TokenBound& known) {
      return known.limit == bound.limit && known.ignored == bound.ignored &&
             known.reason == bound.reason;
    });
    if (same == bounds.end()) {
      bounds.push_back(std::move(bound));
    } else {
      for (std::size_t i = 0; i < bound.elements.size(); ++i) {
        if (bound.elements[i]) same->elements[i] = true;
      }
    }
  };
  for (const program::Operator& op : program.operators) {
    if (op.phase != program::Phase::kForward) break;
    if (op.name == "aten::embedding") {
      const program::Arguments call(op);
      const auto* table = call.tensor("weight");
      if (table != nullptr && !table->sizes.empty()) {
        add(call.tensor("indices"),
            {table->sizes[0], describe_table(program, *table), std::nullopt, {}});
      }
    } else if (is_class_loss(op)) {
      const program::Arguments call(op);
      const auto* scores = call.tensor("self");
      if (scores != nullptr && !scores->sizes.empty()) {
        const std::int64_t classes = scores->sizes[scores->sizes.size() == 1 ? 0 : 1];
        add(call.tensor("target"),
            {classes,
             fmt::format("the loss has {} classes", classes),
             call.integer("ignore_index"),
             {}});
      }
    }
    flow.follow(op);
  }
  return bounds;
}

}  // namespace elixir::train
