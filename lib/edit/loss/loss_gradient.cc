// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/loss/loss_gradient.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "edit/dataflow.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using program::Operator;
using program::OperatorId;
using program::Phase;
using program::Program;
using program::StorageId;
using program::TensorRef;

/// The call that makes the gradient of the loss: backward's first. nullptr: there is none.
const Operator* seed_of(const Program& program, const program::Lifetimes& lifetimes) {
  const auto first =
      std::find_if(program.operators.begin(), program.operators.end(), [&](const Operator& op) {
        return op.phase == Phase::kBackward && lifetimes.executed[static_cast<std::size_t>(op.id)];
      });
  if (first == program.operators.end() || first->name != "aten::ones_like") return nullptr;
  const TensorRef* of =
      first->arguments.empty() ? nullptr : std::get_if<TensorRef>(&first->arguments.front());
  const TensorRef* made = result_of(*first);
  const bool fits = of != nullptr && of->storage == program.loss.storage && made != nullptr &&
                    made->offset == 0 && made->numel() == 1;
  return fits ? &*first : nullptr;
}

/// Whether a call after `op` writes what it has made.
bool is_written_later(const Program& program, const Operator& made_by) {
  const StorageId storage = result_of(made_by)->storage;
  bool written = false;
  for (const Operator& op : program.operators) {
    if (op.id <= made_by.id) continue;
    program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
      written |= tensor.storage == storage && tensor.version > 0;
    });
  }
  return written;
}

}  // namespace

std::optional<Program> take_loss_gradient(Program program) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  const Operator* seed = seed_of(program, lifetimes);
  if (seed == nullptr || is_written_later(program, *seed)) return std::nullopt;
  const TensorRef gradient = *result_of(*seed);
  const OperatorId removed = seed->id;
  program.inputs.push_back({.name = kLossGradient, .tensor = gradient});
  program::Storage& storage = program.storages[static_cast<std::size_t>(gradient.storage)];
  storage.category = program::Category::kInput;
  storage.allocated_at = -1;
  program.operators.erase(program.operators.begin() + removed);
  for (std::size_t i = 0; i < program.operators.size(); ++i) {
    program.operators[i].id = static_cast<OperatorId>(i);
    if (program.operators[i].repeats > removed) --program.operators[i].repeats;
  }
  return program::with_replay_lifetimes(std::move(program));
}

}  // namespace elixir::edit
