// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Runs one schedule on one device. Issues its tasks in order, binds chunks to blocks, and keeps
// operators' storages per micro-batch. Its effects on memory are those that schedule.h defines,
// task by task. It owns no weights.

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "plan/plan.h"
#include "replay/program_replay.h"
#include "runtime/device/device.h"
#include "runtime/optimizer_pass.h"
#include "runtime/state/buffer_store.h"
#include "runtime/state/parameter_layout.h"
#include "runtime/step_report.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

/// The objects that an executor uses. They must all outlive it.
struct ExecutorParts {
  Device& device;
  replay::ProgramReplay& replay;
  const plan::Plan& plan;
  const BufferStore& buffers;
  const std::vector<ParameterLayout>& layouts;  ///< of the replay's program
  OptimizerPass* optimizer;                     ///< nullptr: forward only
  /// Constants' tensors by storage id. Those that are not on_host are copied to their buffers.
  const std::map<program::StorageId, at::Tensor>& constants;
  /// Memory filled with NaN, at least as large as any chunk. The parameters of an absent chunk
  /// point to it. nullptr: using an absent parameter is an error instead.
  void* poison;
};

class Executor {
 public:
  Executor(const ExecutorParts& parts, schedule::Schedule schedule);

  /// Runs the schedule once. `step` counts from 1. Fills the whole report except what only the
  /// optimizer knows. Throws kDataMismatch before anything runs. Throws kOutOfMemory or
  /// kDeviceFailure during the run: then storages are released, but parameters may be partly
  /// updated.
  StepReport run(const MicroBatches& batch, std::uint64_t seed, std::int64_t step);

  [[nodiscard]] const schedule::Schedule& schedule() const { return schedule_; }
  void replace_schedule(schedule::Schedule schedule) { schedule_ = std::move(schedule); }
  /// The storage of a buffer of the program.
  [[nodiscard]] const c10::Storage& storage_of(const program::Buffer& buffer) const;

 private:
  void bind_statics();
  void bind_chunk(std::int32_t chunk, void* memory);
  void unbind_chunk(std::int32_t chunk);
  void begin(const MicroBatches& batch);
  void release_everything();
  void issue(const schedule::Task& task);
  void issue_compute(const schedule::Task& task);
  void issue_inputs(const schedule::Task& task);
  void issue_store_gradient(const schedule::Task& task);
  void issue_accumulate(const schedule::Task& task);
  void issue_norm(const schedule::Task& task);
  void issue_update(const schedule::Task& task);
  void issue_read_loss(const schedule::Task& task);
  void issue_offload(const schedule::Task& task);
  void issue_reload(const schedule::Task& task);
  void issue_copy(const schedule::Task& task, void* to, const void* from, std::int64_t bytes);
  void count_copy(schedule::Stream stream, std::int64_t bytes);
  [[nodiscard]] void* gradients_of(std::int32_t chunk) const;
  [[noreturn]] void fail_out_of_memory(const std::string& what);
  [[nodiscard]] std::vector<float> losses() const;

  ExecutorParts parts_;
  const program::Program& program_;
  schedule::Schedule schedule_;
  std::vector<std::vector<std::int32_t>> parameters_of_chunk_;
  std::vector<replay::StorageTable> tables_;  ///< by micro-batch
  char* loss_slots_ = nullptr;                ///< host, kLossSlotBytes per micro-batch
  // State of the current run:
  std::vector<std::vector<at::Tensor>> inputs_;
  std::vector<bool> seeded_;
  std::uint64_t seed_ = 0;
  std::int64_t step_ = 0;
  plan::Traffic traffic_;
};

}  // namespace elixir::runtime
