// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Runs one schedule on one device, step after step. Issues its tasks in order, binds chunks to
// blocks, and keeps operators' storages per micro-batch. Each task changes memory as schedule.h
// defines. It owns no weights.
//
// The caller must finish() every step, in order. It may issue() one step while the step before is
// under way.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "plan/plan.h"
#include "replay/program_replay.h"
#include "runtime/device/device.h"
#include "runtime/device/task_copies.h"
#include "runtime/state/buffer_store.h"
#include "runtime/state/chunk_bindings.h"
#include "runtime/state/parameter_layout.h"
#include "runtime/step/optimizer_pass.h"
#include "runtime/step_report.h"
#include "schedule/buffers/update_piece.h"
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
  /// Constants' tensors by storage id. A constant that is not on_host is copied to its buffer.
  const std::map<program::StorageId, at::Tensor>& constants;
  /// Memory filled with NaN, at least as large as any chunk. The parameters of an absent chunk
  /// point to it. nullptr: using an absent parameter is an error instead.
  void* poison;
  Ranks ranks;
};

class Executor {
 public:
  Executor(const ExecutorParts& parts, schedule::Schedule schedule);

  /// The inputs of a step, as the program wants them. Throws kDataMismatch.
  [[nodiscard]] MicroBatches conforming_inputs(const MicroBatches& batch) const;
  /// Issues a step with conforming inputs; `step` counts from 1. Calls `settle` once, before the
  /// first task that may only run when the step before is settled (schedule.h), and takes from it
  /// what set_loss_gradients() gives. Throws
  /// kOutOfMemory, kDeviceFailure or what a task has thrown, of this step or the one before: then
  /// the steps under way are discarded, but parameters may be partly updated.
  void issue(MicroBatches inputs,
             std::uint64_t seed,
             std::int64_t step,
             const StepOptions& options,
             const std::function<void()>& settle);
  /// By micro-batch: with what backward begins, where the program has an input for it
  /// (edit/loss/loss_gradient.h). Of the step that is being issued.
  void set_loss_gradients(std::vector<double> gradients) { loss_gradients_ = std::move(gradients); }
  /// Waits until the oldest step under way has ended. Fills its whole report except what only the
  /// optimizer knows. Throws as issue() does.
  [[nodiscard]] StepReport finish();
  /// Makes the moments that the last step has left to the next one (plan::Chunk::late_moments). No
  /// step may be under way. Throws as issue() does.
  void make_late_moments();
  /// Waits for the losses of the newest step, which is under way.
  void wait_for_losses();
  /// The losses read last, one per micro-batch.
  [[nodiscard]] std::vector<float> losses() const;
  /// Waits for running work and discards the steps under way.
  void abandon() noexcept;

  [[nodiscard]] const schedule::Schedule& schedule() const { return schedule_; }
  void replace_schedule(schedule::Schedule schedule);
  /// The storage of a buffer of the program.
  [[nodiscard]] const c10::Storage& storage_of(const program::Buffer& buffer) const;

 private:
  /// A chunk's arrays; nullptr where it has none.
  struct HomeMemory {
    void *parameters, *master, *moment1, *moment2, *gradients;
  };

  void bind_statics();
  /// The input for the gradient of the loss, which this fills; nullptr: there is none.
  [[nodiscard]] const program::Input* loss_gradient() const;
  void fill_loss_gradient(std::int32_t micro_batch);
  /// What a step needs until it has ended.
  struct StepUnderWay {
    MicroBatches inputs;
    bool timed = false;
    std::int64_t peak_device_bytes = 0;
    plan::Traffic traffic;
  };
  /// Runs `work`. When it fails, abandons the steps under way.
  template <class Work>
  void guarded(Work work);
  void release_everything();
  void issue(const schedule::Task& task);
  /// On the device, recorded where somebody asks for it.
  void run(const schedule::Task& task, Device::Body body);
  void issue_compute(const schedule::Task& task);
  std::vector<program::StorageId> give_memory(const schedule::Task& task);
  void issue_inputs(const schedule::Task& task);
  void issue_store_gradient(const schedule::Task& task);
  void issue_accumulate(const schedule::Task& task);
  void issue_accumulate(const schedule::Task& task,
                        const void* gradient,
                        const kernels::BlockSums& sums,
                        SpentMemory spent);
  void issue_norm(const schedule::Task& task);
  // With several ranks.
  void issue_gather(const schedule::Task& task);
  void issue_reduce(const schedule::Task& task);
  void issue_accumulate_shard(const schedule::Task& task);
  void issue_share_buffers(const schedule::Task& task);
  /// Bytes of the shard of the task's chunk that a rank holds, in the parameters' dtype.
  [[nodiscard]] std::int64_t shard_bytes(const schedule::Task& task) const;
  void issue_update(const schedule::Task& task);
  void issue_update_moments(const schedule::Task& task, OptimizerPass::Due due);
  void issue_load_state(const schedule::Task& task);
  void issue_update_of_piece(const schedule::Task& task);
  void issue_store_state(const schedule::Task& task);
  /// The chunk's arrays at home, from the task's first element on.
  [[nodiscard]] OptimizerPass::Chunk arrays_at_home(const schedule::Task& task) const;
  /// The arrays of a piece in an update piece.
  [[nodiscard]] OptimizerPass::Chunk arrays_of_piece(const schedule::Task& task,
                                                     schedule::BufferId piece) const;
  void issue_read_loss(const schedule::Task& task);
  void issue_offload(const schedule::Task& task);
  void issue_reload(const schedule::Task& task);
  /// Master and moments of the task's piece.
  [[nodiscard]] TaskCopies state_copies(const schedule::Task& task,
                                        const OptimizerPass::Chunk& to,
                                        const OptimizerPass::Chunk& from) const;
  /// `spent` is poisoned after that.
  void issue_copies(const schedule::Task& task, const TaskCopies& copies, SpentMemory spent = {});
  void issue_copy(const schedule::Task& task,
                  void* to,
                  const void* from,
                  std::int64_t bytes,
                  SpentMemory spent = {});
  /// The first bytes of a buffer that holds nothing any more when the task has ended, for its
  /// poison; none without poison, or if the buffer keeps its content.
  [[nodiscard]] SpentMemory given_up(schedule::BufferId buffer, std::int64_t bytes) const;
  /// A buffer's memory; of gradients of several steps, that of the step that is being issued.
  [[nodiscard]] void* memory_now(schedule::BufferId id) const;
  void count_copy(schedule::Stream stream, std::int64_t bytes);
  /// The gradient of the task's parameter, where an operator has made it.
  [[nodiscard]] const void* made_gradient(const schedule::Task& task) const;
  /// Where the task leaves sums of squares, if it makes them.
  [[nodiscard]] kernels::BlockSums sums_of(const schedule::Task& task) const;
  [[noreturn]] void fail_out_of_memory(const std::string& what);
  /// Throws kRankLost when another rank is gone: then a failure here comes from that. It may be
  /// noticed on the GPU first.
  void fail_if_rank_lost() const;

  ExecutorParts parts_;
  plan::RankGrid grid_;
  const program::Program& program_;
  schedule::Schedule schedule_;
  std::vector<schedule::Awaited> ends_;       ///< by task id: schedule::awaited_ends()
  std::vector<replay::StorageTable> tables_;  ///< by micro-batch
  ChunkBindings chunks_;
  std::vector<HomeMemory> homes_;  ///< by chunk
  schedule::UpdatePieceLayout piece_layout_;
  std::vector<bool> made_in_buffer_;  ///< by storage: gradients that operators write to buffers
  program::OperatorId backward_begins_ = -1;  ///< the first reader of loss_gradient()
  char* loss_slots_ = nullptr;                ///< host, kLossSlotBytes per micro-batch
  std::deque<StepUnderWay> under_way_;        ///< oldest first
  double last_end_ns_ = 0;                    ///< of the last step that has ended
  // Of the step that is being issued:
  std::vector<bool> seeded_;
  std::vector<double> loss_gradients_;
  std::uint64_t seed_ = 0;
  std::int64_t step_ = 0;
  std::uint64_t finished_steps_ = 0;  ///< since this was made
};

}  // namespace elixir::runtime
