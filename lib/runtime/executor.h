// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Carries out one schedule on one device: issues its tasks in order, binds chunks to blocks, keeps
// operators' storages per micro-batch. What it does to memory is what schedule.h says, task by
// task. It owns no weights.

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "plan/plan.h"
#include "replay/program_replay.h"
#include "runtime/buffer_store.h"
#include "runtime/device/device.h"
#include "runtime/optimizer_pass.h"
#include "runtime/parameter_layout.h"
#include "runtime/step_report.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

/// What an executor works on; everything outlives it.
struct ExecutorParts {
  Device& device;
  replay::ProgramReplay& replay;
  const plan::Plan& plan;
  const BufferStore& buffers;
  const std::vector<ParameterLayout>& layouts;  ///< of the replay's program
  OptimizerPass* optimizer;                     ///< nullptr: forward only
  /// Constants' tensors by storage id. Those that are not on_host are copied to their buffers.
  const std::map<program::StorageId, at::Tensor>& constants;
  /// Memory of NaN that an absent chunk's parameters point to, at least as large as any chunk;
  /// nullptr: using an absent parameter is an error instead.
  void* poison;
};

class Executor {
 public:
  Executor(const ExecutorParts& parts, schedule::Schedule schedule);

  /// One run. `step` counts from 1. Fills everything of the report but what the optimizer knows.
  /// kDataMismatch before anything runs; kOutOfMemory, kDeviceFailure: storages are released, and
  /// parameters are those of a step cut short.
  StepReport run(const MicroBatches& batch, std::uint64_t seed, std::int64_t step);

  [[nodiscard]] const schedule::Schedule& schedule() const { return schedule_; }
  void replace_schedule(schedule::Schedule schedule) { schedule_ = std::move(schedule); }
  /// Storage of a buffer of the program.
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
  char* loss_slots_ = nullptr;                ///< host, kLossSlotBytes a micro-batch
  // Of the run in progress:
  std::vector<std::vector<at::Tensor>> inputs_;
  std::vector<bool> seeded_;
  std::uint64_t seed_ = 0;
  std::int64_t step_ = 0;
  plan::Traffic traffic_;
};

}  // namespace elixir::runtime
