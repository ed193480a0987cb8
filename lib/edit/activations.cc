// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/activations.h"

#include <algorithm>
#include <string>

#include "edit/blocks/module_lists.h"
#include "edit/blocks/segments.h"
#include "program/lifetimes.h"

namespace elixir::edit {

using program::Lifetimes;
using program::Operator;
using program::OperatorId;
using program::Origin;
using program::Phase;
using program::Program;
using program::StorageId;
using program::TensorRef;

std::vector<bool> made_for_the_step(const Program& program, const Lifetimes& lifetimes) {
  std::vector<bool> result(program.storages.size(), false);
  for (std::size_t s = 0; s < result.size(); ++s) {
    const program::StorageUse& use = lifetimes.storages[s];
    result[s] = use.origin == Origin::kProduced && use.producer >= 0 &&
                program.operators[use.producer].phase == Phase::kForward;
  }
  for (const program::Parameter& parameter : program.parameters) {
    if (parameter.gradient) result[parameter.gradient->storage] = false;
  }
  if (program.loss.storage >= 0) result[program.loss.storage] = false;
  return result;
}

namespace {

/// Like kept_activations(), for lifetimes that are already known.
std::vector<StorageId> kept(const Program& program, const Lifetimes& lifetimes) {
  const std::vector<bool> of_forward = made_for_the_step(program, lifetimes);
  std::vector<StorageId> found;
  for (std::size_t s = 0; s < program.storages.size(); ++s) {
    if (!of_forward[s] || program.storages[s].on_host) continue;
    const program::StorageUse& use = lifetimes.storages[s];
    if (program.operators[use.last_use].phase != Phase::kBackward) continue;
    found.push_back(static_cast<StorageId>(s));
  }
  return found;
}

/// Products, attention, and calls with many steps: recomputing them takes time.
bool is_heavy(const Operator& op) {
  return op.flops > 0 || op.name.find("attention") != std::string::npos ||
         op.name.find("rnn") != std::string::npos;
}

template <class Visit>
void for_each_call_of_forward(const Program& program, const Lifetimes& lifetimes, Visit visit) {
  for (const Operator& op : program.operators) {
    if (op.phase == Phase::kForward && lifetimes.executed[op.id]) visit(op);
  }
}

/// Like recomputable(), for lifetimes and blocks that are already known.
std::vector<bool> made_and_read_inside(const Program& program,
                                       const Lifetimes& lifetimes,
                                       const std::vector<std::int32_t>& block) {
  std::vector<bool> result(program.storages.size(), false);
  for_each_call_of_forward(program, lifetimes, [&](const Operator& op) {
    program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
      if (block[op.id] >= 0 && lifetimes.storages[tensor.storage].producer == op.id) {
        result[tensor.storage] = true;
      }
    });
  });
  for_each_call_of_forward(program, lifetimes, [&](const Operator& op) {
    program::for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
      const OperatorId producer = lifetimes.storages[tensor.storage].producer;
      if (producer >= 0 && block[producer] != block[op.id]) result[tensor.storage] = false;
    });
  });
  return result;
}

/// The items of module lists where those hold most of what can be made again, else segments.
std::vector<std::int32_t> blocks(const Program& program,
                                 const Lifetimes& lifetimes,
                                 const std::vector<StorageId>& activations) {
  const auto bytes_inside = [&](const std::vector<std::int32_t>& block) {
    const std::vector<bool> inside = made_and_read_inside(program, lifetimes, block);
    std::int64_t bytes = 0;
    for (const StorageId s : activations) bytes += inside[s] ? program.storages[s].bytes : 0;
    return bytes;
  };
  std::int64_t all_bytes = 0;
  for (const StorageId s : activations) all_bytes += program.storages[s].bytes;
  std::vector<std::int32_t> items = items_of_lists(program, lifetimes, activations);
  const std::int64_t in_items = bytes_inside(items);
  constexpr std::int64_t kEnough = 4;  // a quarter of all
  if (in_items > 0 && in_items >= all_bytes / kEnough) return items;
  std::vector<std::int32_t> segments = segments_of(program, lifetimes, activations);
  return bytes_inside(segments) > in_items ? segments : items;
}

}  // namespace

std::string_view name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNone:
      return "none";
    case Recompute::kElementwise:
      return "elementwise";
    case Recompute::kBlocks:
      return "blocks";
    case Recompute::kFrontier:
      return "frontier";
  }
  return "";
}

std::optional<Recompute> recompute_named(std::string_view name) {
  for (const Recompute each : {Recompute::kNone, Recompute::kElementwise, Recompute::kBlocks}) {
    if (name_of(each) == name) return each;
  }
  return std::nullopt;
}

std::vector<StorageId> kept_activations(const Program& program) {
  return kept(program, program::analyse_lifetimes(program));
}

std::int64_t kept_bytes(const Program& program) {
  std::int64_t bytes = 0;
  for (const StorageId s : kept_activations(program)) bytes += program.storages[s].bytes;
  return bytes;
}

std::vector<std::int32_t> blocks_of(const Program& program) {
  const Lifetimes lifetimes = program::analyse_lifetimes(program);
  return blocks(program, lifetimes, kept(program, lifetimes));
}

std::vector<bool> recomputable(const Program& program) {
  const Lifetimes lifetimes = program::analyse_lifetimes(program);
  return made_and_read_inside(
      program, lifetimes, blocks(program, lifetimes, kept(program, lifetimes)));
}

std::vector<StorageId> choose(const Program& program, Recompute recompute) {
  if (recompute == Recompute::kNone) return {};
  const Lifetimes lifetimes = program::analyse_lifetimes(program);
  const std::vector<StorageId> activations = kept(program, lifetimes);
  const std::vector<std::int32_t> block = blocks(program, lifetimes, activations);
  std::vector<bool> is_kept(program.storages.size(), false);
  for (const StorageId s : activations) is_kept[s] = true;
  const std::vector<bool> may = made_and_read_inside(program, lifetimes, block);
  std::vector<StorageId> chosen;
  std::vector<bool> again(program.storages.size(), false);
  for_each_call_of_forward(program, lifetimes, [&](const Operator& op) {
    if (block[op.id] < 0) return;
    // What a copy reads must exist anyway, not be kept for the copy.
    bool cheap = !is_heavy(op);
    program::for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
      const program::StorageUse& use = lifetimes.storages[tensor.storage];
      const bool there = use.origin != Origin::kProduced || is_kept[tensor.storage] ||
                         again[tensor.storage] || use.producer == op.id;
      if (!there) cheap = false;
    });
    if (recompute == Recompute::kElementwise && !cheap) return;
    program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
      const StorageId s = tensor.storage;
      if (lifetimes.storages[s].producer != op.id || !may[s] || again[s]) return;
      again[s] = true;
      chosen.push_back(s);
    });
  });
  return chosen;
}

}  // namespace elixir::edit
