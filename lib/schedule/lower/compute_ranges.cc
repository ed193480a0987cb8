// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/compute_ranges.h"

#include <algorithm>
#include <utility>

namespace elixir::schedule {

using program::OperatorId;

ComputeRanges::ComputeRanges(const ProgramNeeds& program_needs,
                             const StepNeeds& needs,
                             std::vector<ChunkTasks>& chunk_tasks,
                             TaskList& tasks)
    : program_needs_(program_needs), needs_(needs), chunk_tasks_(chunk_tasks), tasks_(tasks) {}

void ComputeRanges::begin_micro_batch(int micro_batch) {
  micro_batch_ = micro_batch;
  next_last_use_ = 0;
  first_ = 0;
}

void ComputeRanges::close(OperatorId end) {
  for (OperatorId op = first_; op < end; ++op) {
    if (program_needs_.executed[op]) return emit(end);
  }
}

void ComputeRanges::leave_out(OperatorId op) {
  close_all(op);
  first_ = op + 1;
}

void ComputeRanges::close_all(OperatorId end) {
  if (first_ < end) emit(end);
}

void ComputeRanges::end_micro_batch() {
  emit(first_);
}

void ComputeRanges::emit(OperatorId end) {
  std::sort(releases_.begin(), releases_.end());
  last_ = tasks_.add({.kind = TaskKind::kCompute,
                      .stream = Stream::kCompute,
                      .micro_batch = micro_batch_,
                      .first = first_,
                      .last = end,
                      .releases = std::exchange(releases_, {}),
                      .direct = std::exchange(direct_, {})},
                     after_);
  note_users(end);
  first_ = end;
  after_.clear();
  first_reads_.clear();
}

/// Notes what the range up to `end`, now the last task, uses.
void ComputeRanges::note_users(OperatorId end) {
  const auto contains = [&](OperatorId op) { return first_ <= op && op < end; };
  if (micro_batch_ == 0 && contains(program_needs_.buffers_first_use)) first_buffer_user_ = last_;
  if (contains(program_needs_.buffers_last_use)) last_buffer_user_ = last_;
  if (contains(program_needs_.inputs_last_read)) last_input_reader_ = last_;
  while (next_last_use_ < needs_.last_uses.size() && needs_.last_uses[next_last_use_].op < end) {
    chunk_tasks_[needs_.last_uses[next_last_use_++].chunk].reader = last_;
  }
  for (const std::int32_t chunk : first_reads_) chunk_tasks_[chunk].first_reader = last_;
}

}  // namespace elixir::schedule
