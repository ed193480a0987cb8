// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Groups grow one operator at a time, from the first that can be fused on. After each step the
// whole is checked: dependencies, memory, and whether one call can say it.
#include "edit/fusion/fusion_groups.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/interrupt.h"
#include "edit/activations.h"
#include "edit/fusion/fused_call.h"
#include "edit/fusion/fusible.h"
#include "program/arguments/writes.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using program::Ints;
using program::Lifetimes;
using program::Operator;
using program::OperatorId;
using program::Origin;
using program::Phase;
using program::Program;
using program::StorageId;
using program::TensorRef;

/// Most operators of a group: a kernel that does more would run out of registers.
constexpr std::size_t kMostMembers = 32;

/// Who must run before whom, because of a storage.
struct Dependencies {
  std::vector<std::vector<OperatorId>> before, after;  ///< by operator

  explicit Dependencies(const Program& program, const Lifetimes& lifetimes)
      : before(program.operators.size()), after(program.operators.size()) {
    std::vector<OperatorId> writer(program.storages.size(), -1);
    std::vector<std::vector<OperatorId>> readers(program.storages.size());
    for (const Operator& op : program.operators) {
      if (!lifetimes.executed[op.id]) continue;
      std::set<StorageId> written;
      program::for_each_tensor(op.outputs,
                               [&](const TensorRef& tensor) { written.insert(tensor.storage); });
      // What a call without results writes is not known.
      const bool anything = op.writes && written.empty();
      for (const TensorRef& tensor : program::unreturned_writes(op)) written.insert(tensor.storage);
      program::for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
        if (anything) written.insert(tensor.storage);
        add(writer[tensor.storage], op.id);
        readers[tensor.storage].push_back(op.id);
      });
      for (const StorageId s : written) {
        add(writer[s], op.id);
        for (const OperatorId reader : readers[s]) add(reader, op.id);
        readers[s].clear();
        writer[s] = op.id;
      }
    }
  }

 private:
  void add(OperatorId first, OperatorId second) {
    if (first < 0 || first == second) return;
    after[first].push_back(second);
    before[second].push_back(first);
  }
};

/// When a storage is in use, in places of operators.
struct Interval {
  OperatorId first = -1, last = -1;
  std::int64_t bytes = 0;
};

class Grouping {
 public:
  explicit Grouping(const Program& program)
      : program_(program),
        lifetimes_(program::analyse_lifetimes(program)),
        dependencies_(program, lifetimes_),
        block_(blocks_of(program)),
        made_again_(program.operators.size(), false),
        shapes_(program.operators.size()),
        place_(program.operators.size()),
        grouped_(program.operators.size(), false),
        users_(program.storages.size()),
        stays_(program.storages.size(), false),
        in_use_(program.storages.size()),
        live_bytes_(program.operators.size(), 0) {
    find_members();
    find_memory();
    find_made_again();
  }

  std::vector<FusionGroup> run() {
    std::vector<FusionGroup> groups;
    for (const Operator& op : program_.operators) {
      if (!may_join(op.id)) continue;
      throw_if_interrupted();
      auto group = grown_from(op.id);
      if (!group) continue;
      commit(*group);
      groups.push_back(std::move(*group));
    }
    return groups;
  }

 private:
  void find_members() {
    std::set<OperatorId> repeated;
    for (const Operator& op : program_.operators) {
      place_[op.id] = op.id;
      if (op.repeats >= 0) repeated.insert(op.repeats);
    }
    for (const Operator& op : program_.operators) {
      if (!lifetimes_.executed[op.id] || repeated.count(op.id) != 0) continue;
      shapes_[op.id] = fusible_shape(program_, op);
    }
  }

  /// Operators that recomputing norms and elementwise operators runs again. One that is among them
  /// and one that is not are in no group: together they could not run again.
  void find_made_again() {
    for (const StorageId s : choose(program_, Recompute::kElementwise)) {
      made_again_[lifetimes_.storages[s].producer] = true;
    }
  }

  void find_memory() {
    for (const Operator& op : program_.operators) {
      if (!lifetimes_.executed[op.id]) continue;
      const auto use = [&](const TensorRef& tensor) {
        std::vector<OperatorId>& users = users_[tensor.storage];
        if (users.empty() || users.back() != op.id) users.push_back(op.id);
      };
      program::for_each_tensor(op.arguments, use);
      program::for_each_tensor(op.outputs, use);
    }
    for (const program::Parameter& parameter : program_.parameters) {
      if (parameter.gradient) stays_[parameter.gradient->storage] = true;
    }
    if (program_.loss.storage >= 0) stays_[program_.loss.storage] = true;
    for (const program::Storage& storage : program_.storages) {
      const program::StorageUse& use = lifetimes_.storages[storage.id];
      if (use.origin != Origin::kProduced || use.producer < 0) continue;
      Interval& interval = in_use_[storage.id];
      interval = {use.producer,
                  stays_[storage.id] ? end() : std::max(use.producer, use.last_use),
                  storage.bytes};
      live_bytes_[interval.first] += interval.bytes;
      if (interval.last < end()) live_bytes_[interval.last + 1] -= interval.bytes;
    }
    std::partial_sum(live_bytes_.begin(), live_bytes_.end(), live_bytes_.begin());
    for (const Operator& op : program_.operators) {
      if (!lifetimes_.executed[op.id] || block_[op.id] < 0) continue;
      std::int64_t& most = most_in_block_[{op.phase, block_[op.id]}];
      most = std::max(most, live_bytes_[op.id]);
    }
  }

  [[nodiscard]] OperatorId end() const {
    return static_cast<OperatorId>(program_.operators.size()) - 1;
  }
  [[nodiscard]] bool may_join(OperatorId id) const { return !grouped_[id] && shapes_[id]; }

  /// Whether an operator over `own` can work over `shape`, too: once for each element or row.
  static bool fits(const Ints& own, const Ints& shape) {
    return own.size() == shape.size() && (own.back() == shape.back() || own.back() == 1) &&
           std::equal(own.begin(), own.end() - 1, shape.begin());
  }

  [[nodiscard]] bool are_recomputed_alike(OperatorId a, OperatorId b) const {
    return block_[a] == block_[b] && made_again_[a] == made_again_[b];
  }

  /// Operators after `members` that share a value with them, and may be added.
  [[nodiscard]] std::set<OperatorId> neighbours(const std::vector<OperatorId>& members,
                                                const Ints& shape) const {
    std::set<OperatorId> found;
    const Operator& first = program_.operators[members.front()];
    const auto look = [&](const TensorRef& tensor) {
      // Parameters and such have readers everywhere.
      if (in_use_[tensor.storage].first < 0) return;
      const std::vector<OperatorId>& users = users_[tensor.storage];
      for (auto user = std::upper_bound(users.begin(), users.end(), first.id); user != users.end();
           ++user) {
        if (!may_join(*user) || !fits(*shapes_[*user], shape)) continue;
        const Operator& op = program_.operators[*user];
        if (op.phase != first.phase) break;
        if (op.phase == Phase::kForward && !are_recomputed_alike(first.id, op.id)) continue;
        found.insert(op.id);
      }
    };
    for (const OperatorId id : members) {
      program::for_each_tensor(program_.operators[id].arguments, look);
      program::for_each_tensor(program_.operators[id].outputs, look);
    }
    for (const OperatorId id : members) found.erase(id);
    return found;
  }

  std::optional<FusionGroup> grown_from(OperatorId seed) const {
    std::vector<OperatorId> members{seed};
    const Ints shape = *shapes_[seed];
    std::optional<FusionGroup> group;
    for (bool grew = true; grew && members.size() < kMostMembers;) {
      grew = false;
      for (const OperatorId id : neighbours(members, shape)) {
        std::vector<OperatorId> more = members;
        more.insert(std::upper_bound(more.begin(), more.end(), id), id);
        auto larger = group_of(more, shape);
        if (!larger) continue;
        members = std::move(more);
        group = std::move(larger);
        grew = true;
        break;
      }
    }
    return group;
  }

  /// nullopt: these cannot run as one.
  [[nodiscard]] std::optional<FusionGroup> group_of(const std::vector<OperatorId>& members,
                                                    const Ints& shape) const {
    const auto [after, before] = bounds_of(members);
    if (after >= before) return std::nullopt;
    const auto needed_outside = [&](StorageId s) {
      return stays_[s] ||
             !std::includes(members.begin(), members.end(), users_[s].begin(), users_[s].end());
    };
    auto call = fused_call(program_, members, shape, needed_outside);
    if (!call) return std::nullopt;
    FusionGroup group{members, -1, std::move(call->op), std::move(call->gone)};
    for (auto at = members.rbegin(); at != members.rend(); ++at) {
      group.place = *at;
      if (*at > after && *at < before && needs_no_more_memory(group)) return group;
    }
    return std::nullopt;
  }

  /// The places of the last operator that must run before the members, and of the first that must
  /// run after them.
  [[nodiscard]] std::pair<OperatorId, OperatorId> bounds_of(
      const std::vector<OperatorId>& members) const {
    OperatorId after = -1;
    OperatorId before = std::numeric_limits<OperatorId>::max();
    const auto is_member = [&](OperatorId id) {
      return std::binary_search(members.begin(), members.end(), id);
    };
    for (const OperatorId id : members) {
      for (const OperatorId other : dependencies_.before[id]) {
        if (!is_member(other)) after = std::max(after, place_[other]);
      }
      for (const OperatorId other : dependencies_.after[id]) {
        if (!is_member(other)) before = std::min(before, place_[other]);
      }
    }
    return {after, before};
  }

  /// What the group's storages become.
  [[nodiscard]] std::map<StorageId, Interval> intervals_with(const FusionGroup& group) const {
    std::map<StorageId, Interval> changed;
    const auto look = [&](const TensorRef& tensor) {
      const StorageId s = tensor.storage;
      if (in_use_[s].first < 0 || changed.count(s) != 0) return;
      Interval interval{end(), -1, in_use_[s].bytes};
      for (const OperatorId user : users_[s]) {
        const bool inside = std::binary_search(group.members.begin(), group.members.end(), user);
        const OperatorId at = inside ? group.place : place_[user];
        interval.first = std::min(interval.first, at);
        interval.last = std::max(interval.last, at);
      }
      if (stays_[s]) interval.last = end();
      if (std::find(group.gone.begin(), group.gone.end(), s) != group.gone.end()) interval = {};
      changed.emplace(s, interval);
    };
    for (const OperatorId id : group.members) {
      program::for_each_tensor(program_.operators[id].arguments, look);
      program::for_each_tensor(program_.operators[id].outputs, look);
    }
    return changed;
  }

  /// Than the program did before between the first and the last member, or in the same block.
  [[nodiscard]] bool needs_no_more_memory(const FusionGroup& group) const {
    const OperatorId first = group.members.front(), last = group.members.back();
    const auto count = static_cast<std::size_t>(last - first + 1);
    std::vector<std::int64_t> change(count + 1, 0);
    const auto add = [&](const Interval& interval, std::int64_t bytes) {
      const OperatorId from = std::max(interval.first, first);
      const OperatorId to = std::min(interval.last, last);
      if (interval.first < 0 || from > to) return;
      change[static_cast<std::size_t>(from - first)] += bytes;
      change[static_cast<std::size_t>(to - first) + 1] -= bytes;
    };
    for (const auto& [s, interval] : intervals_with(group)) {
      add(in_use_[s], -in_use_[s].bytes);
      add(interval, interval.bytes);
    }
    std::int64_t most_before = 0, most_after = 0, changed = 0;
    for (OperatorId at = first; at <= last; ++at) {
      changed += change[static_cast<std::size_t>(at - first)];
      if (!lifetimes_.executed[at] || (grouped_[at] && place_[at] != at)) continue;
      most_before = std::max(most_before, live_bytes_[at]);
      const bool empty =
          at != group.place && std::binary_search(group.members.begin(), group.members.end(), at);
      if (!empty) most_after = std::max(most_after, live_bytes_[at] + changed);
    }
    const Operator& place = program_.operators[group.place];
    const auto in_block = most_in_block_.find({place.phase, block_[place.id]});
    if (in_block != most_in_block_.end()) most_before = std::max(most_before, in_block->second);
    return most_after <= most_before;
  }

  void commit(const FusionGroup& group) {
    for (const auto& [s, interval] : intervals_with(group)) {
      Interval& old = in_use_[s];
      for (OperatorId at = old.first; at <= old.last; ++at) live_bytes_[at] -= old.bytes;
      for (OperatorId at = std::max(interval.first, 0); at <= interval.last; ++at) {
        live_bytes_[at] += interval.bytes;
      }
      old = interval;
    }
    for (const OperatorId id : group.members) {
      grouped_[id] = true;
      place_[id] = group.place;
    }
  }

  const Program& program_;
  const Lifetimes lifetimes_;
  const Dependencies dependencies_;
  const std::vector<std::int32_t> block_;       ///< by operator
  std::vector<bool> made_again_;                ///< by operator
  std::vector<std::optional<Ints>> shapes_;     ///< by operator that can be fused
  std::vector<OperatorId> place_;               ///< by operator: where it runs
  std::vector<bool> grouped_;                   ///< by operator
  std::vector<std::vector<OperatorId>> users_;  ///< by storage: executed operators, in order
  std::vector<bool> stays_;                     ///< by storage: gradients and the loss
  std::vector<Interval> in_use_;          ///< by storage; first -1: made by no operator, or gone
  std::vector<std::int64_t> live_bytes_;  ///< by place
  /// By phase and block: the most bytes that are alive in the program without groups.
  std::map<std::pair<Phase, std::int32_t>, std::int64_t> most_in_block_;
};

}  // namespace

std::vector<FusionGroup> fusion_groups(const Program& program) {
  return Grouping(program).run();
}

}  // namespace elixir::edit
