// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/program_replay.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>

#include "core/error.h"
#include "operators/own.h"
#include "replay/generator_state.h"

namespace elixir::replay {
namespace {

program::StorageId reloaded_by(const program::Operator& reload) {
  return std::get<program::TensorRef>(reload.outputs.at(0)).storage;
}

}  // namespace

ProgramReplay::ProgramReplay(program::Program program)
    : program_(std::move(program)),
      lifetimes_(program::analyse_lifetimes(program_)),
      calls_(program_.operators.size()),
      device_(program_.target.kind == program::Target::Kind::kCuda ? c10::Device(c10::kCUDA, 0)
                                                                   : c10::Device(c10::kCPU)) {
  for (const program::Operator& op : program_.operators) {
    if (operators::movement_of(op.name) != operators::Movement::kNone) {
      if (op.name == operators::kReloadBegin) reloads_[op.id] = reloaded_by(op);
      continue;
    }
    if (lifetimes_.executed[op.id]) calls_[op.id].emplace(program_, op.id);
    if (op.repeats < 0) continue;
    if (calls_[op.repeats]->handle().hasTag(at::Tag::nondeterministic_seeded)) {
      drawn_from_[op.repeats];
    }
  }
  for (std::size_t id = 0; id < lifetimes_.storages.size(); ++id) {
    if (lifetimes_.storages[id].origin == program::Origin::kProduced) {
      produced_.push_back(static_cast<program::StorageId>(id));
    }
  }
}

void ProgramReplay::call(program::OperatorId id,
                         StorageTable& storages,
                         const std::vector<program::StorageId>& given) {
  const std::vector<program::StorageId>& fresh = calls_[id]->fresh();
  const bool into_given =
      std::find_first_of(fresh.begin(), fresh.end(), given.begin(), given.end()) != fresh.end();
  const auto repeated = drawn_from_.find(program_.operators[id].repeats);
  if (repeated != drawn_from_.end()) {
    require(repeated->second.defined(), "a call repeats another that has not run");
    const GeneratorScope as_before(device_, repeated->second);
    calls_[id]->run(storages, into_given);
    return;
  }
  const auto drawing = drawn_from_.find(id);
  if (drawing != drawn_from_.end()) drawing->second = generator_state(device_);
  calls_[id]->run(storages, into_given);
}

void ProgramReplay::move(program::OperatorId id, StorageTable& storages) const {
  const auto reload = reloads_.find(id);
  if (reload == reloads_.end()) return;  // copies begin and end in the schedule
  const std::int64_t bytes = program_.storages[reload->second].bytes;
  storages[reload->second] =
      at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device_)).storage();
}

void ProgramReplay::run(StorageTable& storages,
                        program::OperatorId first,
                        program::OperatorId last,
                        const RunOptions& options) {
  running_ = -1;
  for (program::OperatorId id = first; id < last; ++id) {
    if (!lifetimes_.executed[id]) continue;
    running_ = id;
    if (calls_[id]) {
      call(id, storages, options.given);
    } else {
      move(id, storages);
    }
    for (const program::StorageId storage : lifetimes_.released_after[id]) {
      if (options.before_release) options.before_release(storages[storage]);
      storages[storage] = c10::Storage();
    }
  }
  running_ = -1;
}

const program::Operator* ProgramReplay::failed_operator() const {
  return running_ < 0 ? nullptr : &program_.operators[running_];
}

void ProgramReplay::release_produced(StorageTable& storages) const {
  for (const program::StorageId storage : produced_) storages[storage] = c10::Storage();
}

}  // namespace elixir::replay
