// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/archive/pickle_values.h"

#include <algorithm>

namespace elixir::capture {

PickledId PickledValues::add(PickledValue value) {
  switch (value.kind) {
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kDict:
    case Kind::kOther:
      ++containers_;
      break;
    default:
      break;
  }
  values_.push_back(value);
  return static_cast<PickledId>(values_.size() - 1);
}

PickledId PickledValues::add_tuple(const PickledId* first, std::size_t count) {
  const auto begin = static_cast<std::uint32_t>(parts_.size());
  parts_.insert(parts_.end(), first, first + count);
  return add({.kind = Kind::kTuple, .begin = begin, .count = static_cast<std::uint32_t>(count)});
}

PickledValues::Extent PickledValues::extent_of(PickledId root) const {
  constexpr std::uint64_t kMostVisits = std::uint64_t{1} << 40;
  // The joined parts, grouped by their whole.
  std::vector<std::uint32_t> first(values_.size() + 1, 0);
  for (const Join& join : joins_) ++first[join.whole + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<PickledId> joined(joins_.size());
  std::vector<std::uint32_t> fill(first.begin(), first.end() - 1);
  for (const Join& join : joins_) joined[fill[join.whole]++] = join.part;

  const auto count_of = [&](PickledId id) -> std::uint32_t {
    const std::uint32_t own = values_[id].kind == Kind::kTuple ? values_[id].count : 0;
    return own + first[id + 1] - first[id];
  };
  const auto part_of = [&](PickledId id, std::uint32_t position) {
    const std::uint32_t own = values_[id].kind == Kind::kTuple ? values_[id].count : 0;
    return position < own ? parts_[values_[id].begin + position]
                          : joined[first[id] + position - own];
  };
  struct Below {
    std::uint64_t depth = 0, visits = 1;
  };
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<Below> below(values_.size());
  std::vector<std::uint8_t> state(values_.size(), kNew);
  struct Step {
    PickledId id;
    std::uint32_t next;
  };
  std::vector<Step> path{{root, 0}};
  state[root] = kOpen;
  while (!path.empty()) {
    Step& step = path.back();
    if (step.next == count_of(step.id)) {
      state[step.id] = kDone;
      path.pop_back();
      continue;
    }
    const PickledId part = part_of(step.id, step.next);
    if (state[part] == kOpen) return {.cyclic = true};
    if (state[part] == kNew) {
      state[part] = kOpen;
      path.push_back({part, 0});
      continue;  // returns to this part later
    }
    Below& own = below[step.id];
    own.depth = std::max(own.depth, below[part].depth + 1);
    own.visits = std::min(kMostVisits, own.visits + below[part].visits);
    ++step.next;
  }
  return {.cyclic = false, .depth = below[root].depth, .visits = below[root].visits};
}

}  // namespace elixir::capture
