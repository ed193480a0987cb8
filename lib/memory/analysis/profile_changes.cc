// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/profile_changes.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace elixir::memory {
namespace {

using OperatorKey = std::tuple<std::string, std::string, program::Phase>;

template <class Value>
struct Pair {
  const Value* before = nullptr;
  const Value* after = nullptr;
};

/// Pairs the elements of both sides by key. An element without a partner is null on the other side.
template <class Value, class KeyOf>
auto paired(const std::vector<Value>& before, const std::vector<Value>& after, KeyOf key_of) {
  std::map<decltype(key_of(before.front())), Pair<Value>> pairs;
  for (const Value& value : before) pairs[key_of(value)].before = &value;
  for (const Value& value : after) pairs[key_of(value)].after = &value;
  return pairs;
}

template <class Value>
Presence presence_of(const Value* before, const Value* after) {
  if (before == nullptr) return Presence::kNew;
  return after == nullptr ? Presence::kGone : Presence::kBoth;
}

template <class Value, class Get>
Amount amount(const Value* before, const Value* after, Get get) {
  return {before == nullptr ? 0 : get(*before), after == nullptr ? 0 : get(*after)};
}

std::vector<ModuleChange> compare_modules(const Attribution& before, const Attribution& after) {
  std::vector<ModuleChange> changes;
  const auto key = [](const ModuleShare& module) { return module.path; };
  for (const auto& entry : paired(before.modules, after.modules, key)) {
    const Pair<ModuleShare>& pair = entry.second;
    const auto of = [&pair](auto member) {
      return amount(
          pair.before, pair.after, [member](const ModuleShare& module) { return module.*member; });
    };
    ModuleChange change;
    change.path = entry.first;
    change.presence = presence_of(pair.before, pair.after);
    change.parameters = of(&ModuleShare::parameters);
    change.at_peak_bytes = of(&ModuleShare::at_peak_bytes);
    change.activations_bytes = of(&ModuleShare::activations_bytes);
    change.peak_inside_bytes = of(&ModuleShare::peak_inside_bytes);
    if (change.presence != Presence::kBoth || change.parameters.changed() ||
        change.at_peak_bytes.changed() || change.activations_bytes.changed() ||
        change.peak_inside_bytes.changed()) {
      changes.push_back(std::move(change));
    }
  }
  const auto order = [](const ModuleChange& change) {
    return std::make_tuple(-growth(change.at_peak_bytes),
                           -growth(change.activations_bytes),
                           -growth(change.peak_inside_bytes),
                           -growth(change.parameters));
  };
  // The map is sorted by path, so a stable sort leaves ties sorted by name.
  std::stable_sort(changes.begin(), changes.end(), [&](const auto& a, const auto& b) {
    return order(a) < order(b);
  });
  return changes;
}

/// Number of calls in both, matched by occurrence, that allocate different sizes.
std::int64_t resized_calls(const OperatorShare* before, const OperatorShare* after) {
  if (before == nullptr || after == nullptr) return 0;
  const std::size_t calls = std::min(before->call_bytes.size(), after->call_bytes.size());
  std::int64_t resized = 0;
  for (std::size_t i = 0; i < calls; ++i) {
    if (before->call_bytes[i] != after->call_bytes[i]) ++resized;
  }
  return resized;
}

std::vector<OperatorChange> compare_operators(const Attribution& before, const Attribution& after) {
  std::vector<OperatorChange> changes;
  const auto key = [](const OperatorShare& op) {
    return OperatorKey(op.module, op.name, op.phase);
  };
  for (const auto& entry : paired(before.operators, after.operators, key)) {
    const OperatorShare* old = entry.second.before;
    const OperatorShare* now = entry.second.after;
    OperatorChange change;
    std::tie(change.module, change.name, change.phase) = entry.first;
    change.presence = presence_of(old, now);
    change.calls = amount(old, now, [](const OperatorShare& op) { return op.calls(); });
    change.allocated_bytes =
        amount(old, now, [](const OperatorShare& op) { return op.allocated_bytes(); });
    change.at_peak_bytes =
        amount(old, now, [](const OperatorShare& op) { return op.at_peak_bytes; });
    change.calls_resized = resized_calls(old, now);
    if (change.presence != Presence::kBoth || change.calls.changed() || change.calls_resized > 0 ||
        change.at_peak_bytes.changed()) {
      changes.push_back(std::move(change));
    }
  }
  const auto order = [](const OperatorChange& change) {
    return std::make_tuple(
        -growth(change.allocated_bytes), -growth(change.at_peak_bytes), -growth(change.calls));
  };
  std::stable_sort(changes.begin(), changes.end(), [&](const auto& a, const auto& b) {
    return order(a) < order(b);
  });
  return changes;
}

}  // namespace

ProfileChanges compare(const Attribution& before, const Attribution& after) {
  ProfileChanges result;
  result.model_path = {before.model_path, after.model_path};
  result.fingerprint = {before.fingerprint, after.fingerprint};
  result.target = {before.target, after.target};
  result.optimizer = {before.optimizer, after.optimizer};
  result.workspaces = {before.workspaces, after.workspaces};
  result.inputs = {before.inputs, after.inputs};
  result.peak_allocated_bytes = {before.memory.peak_allocated_bytes,
                                 after.memory.peak_allocated_bytes};
  result.activations_peak_bytes = {before.memory.activations_peak_bytes,
                                   after.memory.activations_peak_bytes};
  result.peak_reserved_bytes = {before.memory.peak_reserved_bytes,
                                after.memory.peak_reserved_bytes};
  result.process_peak_bytes = {before.memory.process_peak_bytes, after.memory.process_peak_bytes};
  result.parameters = {before.parameters, after.parameters};
  result.operator_calls = {before.operator_calls, after.operator_calls};
  result.peak_operator = {before.peak_operator, after.peak_operator};
  result.peak_module = {before.peak_module, after.peak_module};
  for (std::size_t i = 0; i < program::kCategoryCount; ++i) {
    result.categories.push_back({static_cast<program::Category>(i),
                                 {before.at_peak_bytes[i], after.at_peak_bytes[i]},
                                 {before.made_bytes[i], after.made_bytes[i]}});
  }
  result.modules = compare_modules(before, after);
  result.operators = compare_operators(before, after);
  return result;
}

}  // namespace elixir::memory
