// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/module_memory.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "core/allocation_unit.h"
#include "core/error.h"

namespace elixir::memory {
namespace {

using program::Category;
using program::Operator;
using program::Program;

class Tree {
 public:
  Tree() { nodes_.emplace_back(); }

  /// The position of `path`. Adds the path and its parents if needed.
  std::int32_t add(const std::string& path) {
    if (path.empty()) return 0;
    if (const auto found = positions_.find(path); found != positions_.end()) return found->second;
    // A hostile path with very many parts counts as one part, so that work is linear in its length.
    const bool deep = std::count(path.begin(), path.end(), '.') > kDeepestModule;
    const std::size_t dot = deep ? std::string::npos : path.rfind('.');
    ModuleMemory module;
    module.parent = dot == std::string::npos ? 0 : add(path.substr(0, dot));
    module.name = dot == std::string::npos ? path : path.substr(dot + 1);
    module.path = path;
    const auto position = static_cast<std::int32_t>(nodes_.size());
    nodes_[static_cast<std::size_t>(module.parent)].children.push_back(position);
    nodes_.push_back(std::move(module));
    positions_.emplace(path, position);
    return position;
  }

  /// The innermost module that holds a tensor of this name.
  [[nodiscard]] std::int32_t owner_of(const std::string& tensor) const {
    for (std::size_t dot = tensor.rfind('.'); dot != std::string::npos && dot > 0;
         dot = tensor.rfind('.', dot - 1)) {
      const auto found = positions_.find(tensor.substr(0, dot));
      if (found != positions_.end()) return found->second;
    }
    return 0;
  }

  /// Calls `visit` for a module and all its enclosing modules.
  template <class Visit>
  void upwards(std::int32_t from, Visit visit) {
    for (std::int32_t at = from; at >= 0; at = nodes_[static_cast<std::size_t>(at)].parent) {
      visit(nodes_[static_cast<std::size_t>(at)], at);
    }
  }

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::vector<ModuleMemory> take() { return std::move(nodes_); }

 private:
  std::vector<ModuleMemory> nodes_;
  std::unordered_map<std::string, std::int32_t> positions_;
};

/// The position in the tree of a call's module.
std::int32_t place_of(const Operator& op, const std::vector<std::int32_t>& places) {
  if (op.module < 0) return 0;
  require(static_cast<std::size_t>(op.module) < places.size(),
          "an operator is in a module that does not exist");
  return places[static_cast<std::size_t>(op.module)];
}

void add_parameters(const Program& program, Tree& tree) {
  // The last parameter counted in each module, so that its second name does not count again.
  std::vector<const program::Parameter*> counted(tree.size(), nullptr);
  std::vector<bool> seen(program.storages.size(), false);
  for (const program::Parameter& parameter : program.parameters) {
    const auto storage = static_cast<std::size_t>(parameter.tensor.storage);
    if (seen[storage]) continue;
    seen[storage] = true;
    for (const std::string& name : parameter.names) {
      tree.upwards(tree.owner_of(name), [&](ModuleMemory& module, std::int32_t at) {
        if (std::exchange(counted[static_cast<std::size_t>(at)], &parameter) == &parameter) return;
        module.parameters_bytes += rounded_allocation(program.storages[storage].bytes);
      });
    }
  }
}

}  // namespace

std::vector<ModuleMemory> module_memory(const Program& program, const Timeline& timeline) {
  require(timeline.allocated_bytes.size() == program.operators.size(),
          "a timeline of another program");
  Tree tree;
  std::vector<std::int32_t> places;
  places.reserve(program.modules.size());
  for (const std::string& path : program.modules) places.push_back(tree.add(path));

  add_parameters(program, tree);
  for (const Operator& op : program.operators) {
    const std::int64_t allocated = timeline.allocated_bytes[static_cast<std::size_t>(op.id)];
    tree.upwards(place_of(op, places), [&](ModuleMemory& module, std::int32_t) {
      module.peak_bytes = std::max(module.peak_bytes, allocated);
      module.flops += op.flops;
      ++module.operators;
    });
  }
  for (const program::Storage& storage : program.storages) {
    if (storage.category != Category::kActivation || storage.allocated_at < 0) continue;
    const Operator& op = program.operators[static_cast<std::size_t>(storage.allocated_at)];
    tree.upwards(place_of(op, places), [&](ModuleMemory& module, std::int32_t) {
      module.activations_bytes += rounded_allocation(storage.bytes);
    });
  }
  return tree.take();
}

}  // namespace elixir::memory
