// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/max_flow.h"

#include <algorithm>
#include <cstddef>

namespace elixir::edit {

MaxFlow::MaxFlow(std::int32_t nodes) : out_(static_cast<std::size_t>(nodes)) {}

std::int32_t MaxFlow::add_node() {
  out_.emplace_back();
  return static_cast<std::int32_t>(out_.size()) - 1;
}

void MaxFlow::add_edge(std::int32_t from, std::int32_t to, std::int64_t capacity) {
  out_[from].push_back(static_cast<std::int32_t>(edges_.size()));
  edges_.push_back({to, capacity});
  out_[to].push_back(static_cast<std::int32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MaxFlow::layer(std::int32_t source, std::int32_t sink) {
  layer_.assign(out_.size(), -1);
  layer_[source] = 0;
  std::vector<std::int32_t> queue{source};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const std::int32_t e : out_[queue[i]]) {
      if (edges_[e].left == 0 || layer_[edges_[e].to] >= 0) continue;
      layer_[edges_[e].to] = layer_[queue[i]] + 1;
      queue.push_back(edges_[e].to);
    }
  }
  return layer_[sink] >= 0;
}

/// One path of the layered graph, found without recursion: paths are as long as a model is deep.
std::int64_t MaxFlow::push(std::int32_t source, std::int32_t sink) {
  std::vector<std::int32_t> path;  // edges
  for (std::int32_t at = source; at != sink;) {
    bool forward = false;
    for (; next_[at] < static_cast<std::int32_t>(out_[at].size()); ++next_[at]) {
      const std::int32_t e = out_[at][next_[at]];
      if (edges_[e].left == 0 || layer_[edges_[e].to] != layer_[at] + 1) continue;
      path.push_back(e);
      at = edges_[e].to;
      forward = true;
      break;
    }
    if (forward) continue;
    if (path.empty()) return 0;
    at = edges_[path.back() ^ 1].to;
    path.pop_back();
    ++next_[at];
  }
  std::int64_t flow = kInfinite;
  for (const std::int32_t e : path) flow = std::min(flow, edges_[e].left);
  for (const std::int32_t e : path) {
    edges_[e].left -= flow;
    edges_[e ^ 1].left += flow;
  }
  return flow;
}

std::vector<bool> MaxFlow::source_side(std::int32_t source, std::int32_t sink) {
  while (layer(source, sink)) {
    next_.assign(out_.size(), 0);
    while (push(source, sink) > 0) {
    }
  }
  std::vector<bool> side(out_.size());
  for (std::size_t node = 0; node < out_.size(); ++node) side[node] = layer_[node] >= 0;
  return side;
}

}  // namespace elixir::edit
