// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <set>
#include <string>

#include <fmt/format.h>

#include "program/arguments/arguments.h"
#include "train/data/dataset.h"
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

}  // namespace

std::optional<TokenBound> token_bound(const program::Program& program, std::size_t input) {
  std::set<program::StorageId> holds_input{program.inputs.at(input).tensor.storage};
  const auto reads_input = [&](const program::TensorRef* tensor) {
    return tensor != nullptr && holds_input.count(tensor->storage) != 0;
  };
  std::optional<TokenBound> bound;
  const auto keep_smaller = [&](TokenBound candidate) {
    if (!bound || candidate.limit < bound->limit) bound = std::move(candidate);
  };
  for (const program::Operator& op : program.operators) {
    if (op.phase != program::Phase::kForward) break;
    const program::Arguments call(op);
    if (op.name == "aten::embedding") {
      const auto* table = call.tensor("weight");
      if (reads_input(call.tensor("indices")) && table != nullptr && !table->sizes.empty()) {
        keep_smaller({table->sizes[0], describe_table(program, *table), std::nullopt});
      }
    } else if (is_class_loss(op)) {
      const auto* scores = call.tensor("self");
      if (reads_input(call.tensor("target")) && scores != nullptr && !scores->sizes.empty()) {
        const std::size_t dimension = scores->sizes.size() == 1 ? 0 : 1;
        TokenBound candidate{scores->sizes[dimension],
                             fmt::format("the loss has {} classes", scores->sizes[dimension]),
                             std::nullopt};
        candidate.ignored = call.integer("ignore_index");
        keep_smaller(std::move(candidate));
      }
    } else if ((copies_elements(op.name) && reads_input(first_tensor(op))) ||
               (op.name == "aten::copy_" && reads_input(call.tensor("src")))) {
      program::for_each_tensor(op.outputs, [&](const program::TensorRef& output) {
        holds_input.insert(output.storage);
      });
    }
  }
  return bound;
}

}  // namespace elixir::train
