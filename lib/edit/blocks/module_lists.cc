// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/blocks/module_lists.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace elixir::edit {
namespace {

using program::Operator;
using program::Program;
using program::StorageId;

bool is_number(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
}

/// A module path up to one of its numbers: the list ("h") and the position in it (3).
struct ListItem {
  std::string list;
  std::int32_t position = 0;
};

/// Every list that contains `path`, the outermost first: "h.3.mlp.0" is in "h" at 3 and in
/// "h.3.mlp" at 0.
std::vector<ListItem> lists_of(const std::string& path) {
  constexpr std::size_t kMostDigits = 9;
  std::vector<ListItem> items;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (is_number(part) && part.size() <= kMostDigits) {
      items.push_back({path.substr(0, begin), std::stoi(part)});
    }
    begin = end + 1;
  }
  return items;
}

}  // namespace

std::vector<std::int32_t> items_of_lists(const Program& program,
                                         const program::Lifetimes& lifetimes,
                                         const std::vector<StorageId>& activations) {
  std::vector<std::vector<ListItem>> lists(program.modules.size());
  for (std::size_t m = 0; m < lists.size(); ++m) lists[m] = lists_of(program.modules[m]);
  std::map<std::string, std::set<std::int32_t>> positions;  // of activations, by list
  for (const StorageId s : activations) {
    const std::int32_t module = program.operators[lifetimes.storages[s].producer].module;
    if (module < 0 || program.storages[s].bytes == 0) continue;
    for (const ListItem& item : lists[module]) positions[item.list].insert(item.position);
  }
  std::map<std::pair<std::string, std::int32_t>, std::int32_t> number;
  std::vector<std::int32_t> result(program.operators.size(), -1);
  for (const Operator& op : program.operators) {
    if (op.module < 0) continue;
    const std::vector<ListItem>& items = lists[op.module];
    const auto outer = std::find_if(items.begin(), items.end(), [&](const ListItem& item) {
      const auto found = positions.find(item.list);
      return found != positions.end() && found->second.size() >= 2;
    });
    if (outer == items.end()) continue;
    const auto next = static_cast<std::int32_t>(number.size());
    result[op.id] = number.try_emplace({outer->list, outer->position}, next).first->second;
  }
  return result;
}

}  // namespace elixir::edit
