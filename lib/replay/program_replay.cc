// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/program_replay.h"

#include <utility>

namespace elixir::replay {

ProgramReplay::ProgramReplay(program::Program program)
    : program_(std::move(program)),
      lifetimes_(program::analyse_lifetimes(program_)),
      calls_(program_.operators.size()) {
  for (const program::Operator& op : program_.operators) {
    if (lifetimes_.executed[op.id]) calls_[op.id].emplace(program_, op.id);
  }
  for (std::size_t id = 0; id < lifetimes_.storages.size(); ++id) {
    if (lifetimes_.storages[id].origin == program::Origin::kProduced) {
      produced_.push_back(static_cast<program::StorageId>(id));
    }
  }
}

void ProgramReplay::run(StorageTable& storages,
                        program::OperatorId first,
                        program::OperatorId last) {
  running_ = -1;
  for (program::OperatorId id = first; id < last; ++id) {
    if (!calls_[id]) continue;
    running_ = id;
    calls_[id]->run(storages);
    for (const program::StorageId storage : lifetimes_.released_after[id]) {
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
