// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/layout.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/units.h"

namespace elixir::search {

std::vector<Item> items_of(const program::Program& program,
                           const std::vector<std::int32_t>& order) {
  std::vector<Item> items;
  items.reserve(order.size());
  for (const std::int32_t position : order) {
    const program::Parameter& parameter = program.parameters[position];
    items.push_back(
        {.parameter = position,
         .bytes = round_up(parameter.tensor.bytes(), plan::kAlignmentBytes),
         .kind = static_cast<int>(parameter.tensor.dtype) * 2 + (parameter.gradient ? 1 : 0),
         .tied = parameter.names.size() > 1});
  }
  return items;
}

Layout pack(const std::vector<std::vector<Item>>& groups, std::int64_t capacity_bytes) {
  Layout layout;
  std::map<int, std::size_t> open;  // by kind
  for (const std::vector<Item>& group : groups) {
    std::int64_t bytes = 0;
    for (const Item& item : group) bytes += item.bytes;
    const int kind = group.front().kind;
    const auto found = open.find(kind);
    std::size_t chunk = layout.size();
    if (found != open.end() && layout[found->second].bytes + bytes <= capacity_bytes) {
      chunk = found->second;
    } else {
      layout.emplace_back();
      open[kind] = chunk;
    }
    Members& members = layout[chunk];
    members.items.insert(members.items.end(), group.begin(), group.end());
    members.bytes += bytes;
  }
  return layout;
}

std::vector<std::vector<Item>> singles(const std::vector<Item>& items) {
  std::vector<std::vector<Item>> groups;
  for (const Item& item : items) {
    if (!item.tied) groups.push_back({item});
  }
  return groups;
}

std::vector<std::vector<Item>> used_together(const std::vector<Item>& items,
                                             const program::Lifetimes& lifetimes) {
  std::map<std::int32_t, std::size_t> item_of;  // by parameter
  for (std::size_t i = 0; i < items.size(); ++i) item_of[items[i].parameter] = i;
  std::vector<std::size_t> parent(items.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const std::vector<std::int32_t>& used : lifetimes.parameters_used) {
    std::map<int, std::size_t> first;  // by kind
    for (const std::int32_t parameter : used) {
      const std::size_t i = item_of.at(parameter);
      if (items[i].tied) continue;
      const auto [place, fresh] = first.emplace(items[i].kind, i);
      if (fresh) continue;
      const std::size_t a = root(place->second);
      const std::size_t b = root(i);
      parent[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<std::vector<Item>> groups;
  std::map<std::size_t, std::size_t> group_of;  // by root
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].tied) continue;
    const auto [place, fresh] = group_of.emplace(root(i), groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(items[i]);
  }
  return groups;
}

Layout private_chunks(const std::vector<Item>& items) {
  Layout layout;
  for (const Item& item : items) {
    if (item.tied) layout.push_back({.items = {item}, .bytes = item.bytes, .is_private = true});
  }
  return layout;
}

std::vector<plan::Chunk> chunks_of(const Layout& layout,
                                   const program::Program& program,
                                   const plan::Plan& blank) {
  std::vector<plan::Chunk> chunks;
  for (const Members& members : layout) {
    plan::Chunk chunk;
    chunk.kind = members.is_private ? plan::Chunk::Kind::kPrivate : plan::Chunk::Kind::kPublic;
    chunk.dtype = program.parameters[members.items.front().parameter].tensor.dtype;
    chunk.gradient_dtype = plan::summed_dtype(blank, chunk.dtype);
    const std::int64_t unit_bytes = plan::kPieceUnitElements * program::element_bytes(chunk.dtype);
    std::int64_t end_bytes = 0;
    for (const Item& item : members.items) {
      // The end of a shard may be at any multiple of the unit.
      const std::int64_t left_bytes = unit_bytes - end_bytes % unit_bytes;
      if (blank.world > 1 && std::min(item.bytes, unit_bytes) > left_bytes) end_bytes += left_bytes;
      chunk.parameters.push_back(
          {.name = program.parameters[item.parameter].name, .offset_bytes = end_bytes});
      end_bytes += item.bytes;
    }
    chunk.bytes = round_up(std::max(members.bytes, end_bytes),
                           blank.world > 1 ? blank.world * unit_bytes : plan::kAlignmentBytes);
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

}  // namespace elixir::search
