// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/gradients/gradient_releases.h"

#include <cstddef>

namespace elixir::schedule {

using program::OperatorId;
using program::StorageId;

GradientReleases::GradientReleases(const program::Program& program,
                                   const program::Lifetimes& lifetimes,
                                   const ProgramNeeds& program_needs,
                                   std::int64_t window_bytes,
                                   ComputeRanges& ranges)
    : program_(program),
      lifetimes_(lifetimes),
      program_needs_(program_needs),
      window_bytes_(window_bytes),
      ranges_(ranges) {}

void GradientReleases::begin_micro_batch() {
  storages_.assign(program_.storages.size(), {});
  for (std::size_t s = 0; s < storages_.size(); ++s) {
    storages_[s].gradients_left = program_needs_.gradients_in[s];
  }
  stored_.clear();
  copying_.clear();
  copying_bytes_ = 0;
}

void GradientReleases::done_with_gradient(StorageId storage) {
  if (--storages_[storage].gradients_left > 0) return;
  const bool copies = storages_[storage].copy >= 0;
  (copies ? copying_ : stored_).push_back(storage);
  if (copies) copying_bytes_ += bytes_of(storage);
}

void GradientReleases::release_after(OperatorId op) {
  const auto needed = [&](StorageId storage) { return lifetimes_.storages[storage].last_use > op; };
  std::erase_if(stored_, [&](StorageId storage) {
    if (!needed(storage)) release(storage);
    return !needed(storage);
  });
  auto next = copying_.begin();
  while (next != copying_.end() && copying_bytes_ > window_bytes_) {
    if (needed(*next)) {
      ++next;
      continue;
    }
    copying_bytes_ -= bytes_of(*next);
    release(*next);
    next = copying_.erase(next);
  }
}

void GradientReleases::end_micro_batch() {
  for (const std::vector<StorageId>* left : {&stored_, &copying_}) {
    for (const StorageId storage : *left) release(storage);
  }
  // In a forward-only schedule also whatever backward would have used.
  for (const StorageId storage : program_needs_.left_over) {
    if (!storages_[storage].released) release(storage);
  }
}

void GradientReleases::release(StorageId storage) {
  ranges_.await(storages_[storage].copy);
  ranges_.release(storage);
  storages_[storage].released = true;
}

}  // namespace elixir::schedule
