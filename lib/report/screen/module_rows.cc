// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/module_rows.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "program/names/labels.h"

namespace elixir::report {
namespace {

using memory::ModuleMemory;

/// A branch lighter than this share of the model is counted, not shown.
constexpr double kLeastShare = 0.005;
/// Rows per branch without its "more" row, so that a wide branch cannot fill the screen.
constexpr std::size_t kMostChildren = 7;

std::int64_t weight_of(const ModuleMemory& module) {
  return module.parameters_bytes + module.activations_bytes;
}

bool same_figures(const ModuleMemory& a, const ModuleMemory& b) {
  return a.parameters_bytes == b.parameters_bytes && a.activations_bytes == b.activations_bytes &&
         a.peak_bytes == b.peak_bytes;
}

/// Siblings with equal figures, represented by one of them.
struct Group {
  std::vector<std::int32_t> members;  // positions, in the tree's order
  std::int32_t speaker = -1;          // the one with the highest peak; the first on ties
};

/// A row, with the rows inside it once it is opened.
struct Node {
  ModuleRow row;
  std::int32_t module = -1;  ///< opens to its children; -1 for a "more" row
  std::int64_t stands_for =
      1;  ///< number of modules, times the modules that the enclosing rows stand for
  std::vector<std::size_t> inside;
};

class Cut {
 public:
  Cut(const std::vector<ModuleMemory>& tree, std::size_t limit) : tree_(tree), limit_(limit) {}

  std::vector<ModuleRow> rows() {
    add(Group{{0}, 0}, 0, 1);
    while (!closed_.empty()) {
      const std::size_t heaviest = std::get<2>(closed_.top());
      closed_.pop();
      open(heaviest);
    }
    collect(0);
    return std::move(result_);
  }

 private:
  [[nodiscard]] const ModuleMemory& module(std::int32_t position) const {
    return tree_[static_cast<std::size_t>(position)];
  }

  [[nodiscard]] std::vector<Group> groups_in(std::int32_t parent) const {
    std::vector<Group> groups;
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> alike;
    for (const std::int32_t child : module(parent).children) {
      const auto key =
          std::make_pair(module(child).parameters_bytes, module(child).activations_bytes);
      const auto [found, fresh] = alike.try_emplace(key, groups.size());
      if (fresh) groups.push_back({{}, child});
      Group& group = groups[found->second];
      group.members.push_back(child);
      if (module(child).peak_bytes > module(group.speaker).peak_bytes) group.speaker = child;
    }
    return groups;
  }

  /// "0 … 4" for neighbours in the model's order; "0 … 2, 4" if there are others in between. For
  /// very many ranges, the first two and the last.
  [[nodiscard]] std::string names_of(const Group& group) const {
    constexpr std::size_t kMostStretches = 4;
    const auto& siblings = module(module(group.speaker).parent).children;
    std::vector<std::string> stretches;
    std::size_t sibling = 0;
    for (std::size_t first = 0; first < group.members.size();) {
      while (siblings[sibling] != group.members[first]) ++sibling;
      std::size_t last = first;
      while (last + 1 < group.members.size() && siblings[sibling + 1] == group.members[last + 1]) {
        ++last;
        ++sibling;
      }
      const std::string& name = module(group.members[first]).name;
      stretches.push_back(
          last == first ? name : fmt::format("{} … {}", name, module(group.members[last]).name));
      first = last + 1;
    }
    if (stretches.size() <= kMostStretches) return fmt::format("{}", fmt::join(stretches, ", "));
    return fmt::format("{}, {}, … {}", stretches[0], stretches[1], stretches.back());
  }

  std::size_t add(const Group& group, int depth, std::int64_t around) {
    Node node;
    node.module = group.speaker;
    node.stands_for = around * static_cast<std::int64_t>(group.members.size());
    const ModuleMemory& speaker = module(group.speaker);
    node.row = {.depth = depth,
                .alike = static_cast<std::int64_t>(group.members.size()),
                .parameters_bytes = speaker.parameters_bytes,
                .activations_bytes = speaker.activations_bytes,
                .peak_bytes = speaker.peak_bytes};
    if (group.members.size() > 1) {
      node.row.label = names_of(group);
    } else {
      node.row.label = speaker.parent < 0 ? program::module_label("") : speaker.name;
      // Nested modules share a row as long as the inner one has the same figures.
      while (module(node.module).children.size() == 1 &&
             same_figures(module(node.module), module(module(node.module).children.front()))) {
        node.module = module(node.module).children.front();
        const std::string& name = module(node.module).name;
        node.row.label =
            node.row.label == program::module_label("") ? name : node.row.label + "." + name;
      }
    }
    nodes_.push_back(std::move(node));
    const std::size_t position = nodes_.size() - 1;
    closed_.emplace(weight_of(speaker) * nodes_.back().stands_for,
                    -static_cast<std::ptrdiff_t>(position),
                    position);
    return position;
  }

  std::size_t add_rest(const std::vector<Group>& rest, int depth) {
    Node node;
    node.row.depth = depth;
    node.row.alike = 0;
    for (const Group& group : rest) {
      for (const std::int32_t member : group.members) {
        node.row.alike += 1;
        node.row.parameters_bytes += module(member).parameters_bytes;
        node.row.activations_bytes += module(member).activations_bytes;
        node.row.peak_bytes = std::max(node.row.peak_bytes, module(member).peak_bytes);
      }
    }
    node.row.label = fmt::format("… {} more", node.row.alike);
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  void open(std::size_t position) {
    const std::vector<Group> groups = groups_in(nodes_[position].module);
    std::vector<const Group*> by_weight;
    const std::int64_t around = nodes_[position].stands_for;
    const auto total = [&](const Group& group) {
      return weight_of(module(group.speaker)) * static_cast<std::int64_t>(group.members.size());
    };
    const double least = kLeastShare * static_cast<double>(weight_of(tree_[0]));
    for (const Group& group : groups) {
      const std::int64_t weight = total(group) * around;
      if (weight > 0 && static_cast<double>(weight) >= least) by_weight.push_back(&group);
    }
    std::stable_sort(by_weight.begin(), by_weight.end(), [&](const Group* a, const Group* b) {
      return total(*a) > total(*b);
    });
    if (by_weight.size() > kMostChildren) by_weight.resize(kMostChildren);
    if (by_weight.empty()) return;
    const bool all = by_weight.size() == groups.size();
    if (nodes_.size() + by_weight.size() + (all ? 0 : 1) > limit_) return;

    const int depth = nodes_[position].row.depth + 1;
    std::vector<Group> rest;
    for (const Group& group : groups) {
      if (std::find(by_weight.begin(), by_weight.end(), &group) == by_weight.end()) {
        rest.push_back(group);
      } else {
        const std::size_t child = add(group, depth, around);
        nodes_[position].inside.push_back(child);
      }
    }
    if (!rest.empty()) {
      const std::size_t child = add_rest(rest, depth);
      nodes_[position].inside.push_back(child);
    }
  }

  void collect(std::size_t position) {
    result_.push_back(nodes_[position].row);
    for (const std::size_t child : nodes_[position].inside) collect(child);
  }

  const std::vector<ModuleMemory>& tree_;
  std::size_t limit_;
  std::vector<Node> nodes_;
  /// Rows that may be opened: heaviest first, then in order of creation.
  std::priority_queue<std::tuple<std::int64_t, std::ptrdiff_t, std::size_t>> closed_;
  std::vector<ModuleRow> result_;
};

}  // namespace

std::vector<ModuleRow> module_rows(const std::vector<ModuleMemory>& tree, std::size_t limit) {
  require(!tree.empty() && limit >= 1, "a module tree has a root, and room for it");
  return Cut(tree, limit).rows();
}

}  // namespace elixir::report
