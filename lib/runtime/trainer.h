// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The trainer. It executes a plan's schedule on a device by replaying the captured program below
// autograd, and owns parameters, optimizer state and buffers. A process may have one at a time: on
// the CPU device all memory is counted in one account of the process. Placement never changes the
// numbers: any two plans of a program, on one kind of device and with one CPU thread count, give
// the same losses and weights, bit for bit.
//
// Steps overlap: the optimizer updates of a step run beside the forward pass of the next. Whatever
// looks at weights or state waits for the last update first.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "capture/capture.h"
#include "plan/plan.h"
#include "runtime/loss_scaler.h"
#include "runtime/pending_step.h"
#include "runtime/state_part.h"
#include "runtime/step_report.h"
#include "runtime/trainer_options.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

class Trainer {
 public:
  /// Lowers and checks the plan, then allocates and fills every buffer. Throws
  /// kPlanOfAnotherProgram, kInconsistentPlan, kMachineTooSmall, kWrongMachineKind, kNoGpu,
  /// kUnsupportedModel (program/trainable.h), kBufferWithoutData (from `source`), kOutOfMemory.
  Trainer(capture::Captured captured,
          plan::Plan plan,
          TrainerOptions options,
          const TensorSource& source);
  ~Trainer();

  /// Starts one optimizer step (steps count from 1) with this learning rate, and returns when its
  /// operators are issued; its updates may still run. Pinned tensors of `batch` must not change
  /// before the step has ended. Throws kDataMismatch before anything runs, and as
  /// PendingStep::report() does, also for the step before: a failure is thrown one step later at
  /// the latest.
  [[nodiscard]] PendingStep step(const MicroBatches& batch,
                                 double learning_rate,
                                 const StepOptions& options = {});
  /// Mean loss of one micro-batch without an update, through the same chunks. `evaluation` is a
  /// forward-only capture (mode eval) with the same parameters. It is prepared once and kept.
  /// Buffers that it writes are copies.
  double evaluate(const capture::Captured& evaluation, const std::vector<at::Tensor>& inputs);
  /// Allocates now what the first evaluate() would allocate (schedule/memory/evaluation.h has the
  /// amount), so that every step runs with the same free memory. Throws kOutOfMemory.
  void prepare_evaluation(const capture::Captured& evaluation);

  /// Steps that have ended without a failure. Does not wait for the one under way.
  [[nodiscard]] std::int64_t steps_done() const;
  /// The part of these steps that was not skipped, and that bias corrections count.
  [[nodiscard]] std::int64_t updates_done() const;
  [[nodiscard]] bool has_step_under_way() const;
  /// After steps_done(). nullopt: the plan has no loss scale, and no step was skipped before.
  [[nodiscard]] std::optional<LossScaleState> loss_scale() const;
  [[nodiscard]] const plan::Plan& plan() const;
  [[nodiscard]] const program::Program& program() const;
  [[nodiscard]] const schedule::Schedule& schedule() const;

  /// State by any of a parameter's names, copied to CPU with the program's strides. Undefined
  /// for optimizer state of a parameter that has none (frozen, without gradient, optimizer none).
  /// Here and below: waits for the step under way, and throws as its report() does.
  [[nodiscard]] at::Tensor state(const std::string& parameter, StatePart part) const;
  /// Throws kNotFinite, too: a buffer that steps write and that began finite must stay so.
  [[nodiscard]] at::Tensor buffer(const std::string& name) const;
  /// Restores exactly what state()/buffer() gave. A master sets the parameter too (rounded to its
  /// dtype), and a parameter the master (widened).
  void set_state(const std::string& parameter, StatePart part, const at::Tensor& value);
  void set_buffer(const std::string& name, const at::Tensor& value);
  void set_steps_done(std::int64_t steps);
  void set_loss_scale(const LossScaleState& state);

  /// The elements of a parameter, and of its optimizer state, that a rank holds. They are counted
  /// in the order of memory, by the program's strides.
  [[nodiscard]] HeldElements held(const std::string& parameter, int rank) const;
  /// The part of held() that the rank writes to a checkpoint: ranks that hold the same elements
  /// divide them among themselves.
  [[nodiscard]] HeldElements saved(const std::string& parameter, int rank) const;
  /// As state() and set_state(), but only this rank's elements, in one dimension. Exchanges nothing
  /// with other ranks.
  [[nodiscard]] at::Tensor own_state(const std::string& parameter, StatePart part) const;
  void set_own_state(const std::string& parameter, StatePart part, const at::Tensor& value);

 private:
  friend struct TrainerInternals;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace elixir::runtime
