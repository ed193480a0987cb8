// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/frontier_path.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "edit/activations.h"
#include "program/lifetimes.h"

namespace elixir::edit {

using program::Operator;
using program::StorageId;

FrontierPath::FrontierPath(const program::Program& program, std::vector<FrontierPoint> points)
    : points_(std::move(points)), block_(program.storages.size(), -1) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  const std::vector<std::int32_t> block_of_operator = blocks_of(program);
  std::vector<std::int32_t> order;  // of blocks in forward
  std::set<std::int32_t> seen;
  for (const Operator& op : program.operators) {
    if (op.phase != program::Phase::kForward) continue;
    if (seen.insert(block_of_operator[op.id]).second) order.push_back(block_of_operator[op.id]);
  }
  for (std::size_t s = 0; s < block_.size(); ++s) {
    const program::OperatorId producer = lifetimes.storages[s].producer;
    if (producer >= 0) block_[s] = block_of_operator[producer];
  }
  for (FrontierPoint& point : points_) std::sort(point.storages.begin(), point.storages.end());
  start_.push_back(0);
  for (std::size_t p = 0; p + 1 < points_.size(); ++p) {
    std::vector<StorageId> different;
    std::set_symmetric_difference(points_[p].storages.begin(),
                                  points_[p].storages.end(),
                                  points_[p + 1].storages.begin(),
                                  points_[p + 1].storages.end(),
                                  std::back_inserter(different));
    std::set<std::int32_t> blocks;
    for (const StorageId s : different) blocks.insert(block_[s]);
    std::vector<std::int32_t> changes;
    std::copy_if(order.begin(), order.end(), std::back_inserter(changes), [&](std::int32_t block) {
      return blocks.count(block) != 0;
    });
    start_.push_back(start_.back() + changes.size());
    changes_.push_back(std::move(changes));
  }
}

std::size_t FrontierPath::point_before(std::size_t position) const {
  const auto after = std::upper_bound(start_.begin(), start_.end(), position);
  return static_cast<std::size_t>(after - start_.begin()) - 1;
}

std::vector<StorageId> FrontierPath::storages(std::size_t position) const {
  const std::size_t point = point_before(position);
  if (position == start_[point]) return points_[point].storages;
  const auto first = changes_[point].begin();
  const std::set<std::int32_t> changed(
      first, first + static_cast<std::ptrdiff_t>(position - start_[point]));
  const auto is_changed = [&](StorageId s) { return changed.count(block_[s]) != 0; };
  std::vector<StorageId> result;
  std::copy_if(points_[point + 1].storages.begin(),
               points_[point + 1].storages.end(),
               std::back_inserter(result),
               is_changed);
  std::copy_if(points_[point].storages.begin(),
               points_[point].storages.end(),
               std::back_inserter(result),
               [&](StorageId s) { return !is_changed(s); });
  std::sort(result.begin(), result.end());
  return result;
}

std::int64_t FrontierPath::kept_bytes(std::size_t position) const {
  const std::size_t point = point_before(position);
  const std::int64_t bytes = points_[point].kept_bytes;
  if (position == start_[point]) return bytes;
  const auto done = static_cast<std::int64_t>(position - start_[point]);
  const auto all = static_cast<std::int64_t>(changes_[point].size());
  return bytes - (bytes - points_[point + 1].kept_bytes) / all * done;
}

std::size_t FrontierPath::middle(std::size_t left, std::size_t right) const {
  if (right < left + 2) return left;
  const std::int64_t wanted = kept_bytes(right) + (kept_bytes(left) - kept_bytes(right)) / 2;
  std::size_t enough = right - 1;  // the first position that keeps at most `wanted`, or this one
  for (std::size_t more = left; enough - more > 1;) {
    const std::size_t between = more + (enough - more) / 2;
    (kept_bytes(between) <= wanted ? enough : more) = between;
  }
  return enough;
}

}  // namespace elixir::edit
