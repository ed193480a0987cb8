// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// When the storages go that operators made gradients in: at once where nobody reads them any more;
// where a copy to the host still does, the oldest first, once the plan's window is full. A compute
// range that releases one waits for its copy.

#include <cstdint>
#include <vector>

#include "program/lifetimes.h"
#include "program/program.h"
#include "schedule/lower/compute_ranges.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// Everything that it is given must outlive it.
class GradientReleases {
 public:
  /// `window_bytes`: of gradients whose copies may be under way.
  GradientReleases(const program::Program& program,
                   const program::Lifetimes& lifetimes,
                   const ProgramNeeds& program_needs,
                   std::int64_t window_bytes,
                   ComputeRanges& ranges);

  void begin_micro_batch();
  /// `copy` reads a gradient in the storage from another stream.
  void copied(program::StorageId storage, TaskId copy) { storages_[storage].copy = copy; }
  /// One of the gradients in the storage has been dealt with. After the last of them it may go.
  void done_with_gradient(program::StorageId storage);
  /// The open range releases what no operator after `op` reads.
  void release_after(program::OperatorId op);
  /// It releases whatever is left of the micro-batch, the loss included.
  void end_micro_batch();

 private:
  /// A storage that holds gradients, within one micro-batch.
  struct GradientStorage {
    int gradients_left = 0;  ///< that have not been dealt with
    TaskId copy = -1;        ///< the last one to the host
    bool released = false;
  };
  void release(program::StorageId storage);
  [[nodiscard]] std::int64_t bytes_of(program::StorageId storage) const {
    return program_.storages[storage].bytes;
  }

  const program::Program& program_;
  const program::Lifetimes& lifetimes_;
  const ProgramNeeds& program_needs_;
  const std::int64_t window_bytes_;
  ComputeRanges& ranges_;

  std::vector<GradientStorage> storages_;  // by id
  // Gradients that are dealt with and not yet released, oldest first.
  std::vector<program::StorageId> stored_;   // on the device
  std::vector<program::StorageId> copying_;  // on their way to the host
  std::int64_t copying_bytes_ = 0;
};

}  // namespace elixir::schedule
