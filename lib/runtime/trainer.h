// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The trainer: executes a plan's schedule on a device by replaying the captured program below
// autograd, and owns parameters, optimizer state and buffers. One per process (it takes over the
// CPU allocator of LibTorch while operators run). Placement never changes the numbers: any two
// plans of a program on one kind of device and one CPU thread count give the same losses and
// weights, bit for bit.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "capture/capture.h"
#include "plan/plan.h"
#include "runtime/state_part.h"
#include "runtime/step_report.h"
#include "runtime/trainer_options.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

class Trainer {
 public:
  /// Lowers and checks the plan, allocates every buffer, fills them. kPlanOfAnotherProgram,
  /// kInconsistentPlan, kMachineTooSmall, kWrongMachineKind, kNoGpu, kUnsupportedModel (fp16),
  /// kBufferWithoutData (from `source`), kOutOfMemory.
  Trainer(capture::Captured captured,
          plan::Plan plan,
          TrainerOptions options,
          const TensorSource& source);
  ~Trainer();

  /// One optimizer step (step count from 1). `learning_rate` is this step's. kDataMismatch before
  /// anything runs; kOutOfMemory, kDeviceFailure, kLossNotFinite, kNotFinite (a gradient or an
  /// update): the step is not counted, and updates may have been made: go on from a checkpoint.
  StepReport step(const MicroBatches& batch, double learning_rate);
  /// Mean loss of one micro-batch without update, through the same chunks. `evaluation` is a
  /// forward-only capture with the same parameters (mode eval); captured once and kept.
  double evaluate(const capture::Captured& evaluation, const std::vector<at::Tensor>& inputs);
  /// Allocates what evaluate() would allocate the first time (schedule/evaluation.h says how much),
  /// so that every step has the same memory around it. kOutOfMemory.
  void prepare_evaluation(const capture::Captured& evaluation);

  [[nodiscard]] std::int64_t steps_done() const;
  [[nodiscard]] const plan::Plan& plan() const;
  [[nodiscard]] const program::Program& program() const;
  [[nodiscard]] const schedule::Schedule& schedule() const;

  /// State by any of a parameter's names, copied to CPU with the program's strides. Undefined
  /// for optimizer state of a parameter that has none (frozen, without gradient, optimizer none).
  [[nodiscard]] at::Tensor state(const std::string& parameter, StatePart part) const;
  [[nodiscard]] at::Tensor buffer(const std::string& name) const;
  /// Restores exactly what state()/buffer() gave. A master sets the parameter too (rounded to its
  /// dtype), and a parameter the master (widened). Between steps only.
  void set_state(const std::string& parameter, StatePart part, const at::Tensor& value);
  void set_buffer(const std::string& name, const at::Tensor& value);
  void set_steps_done(std::int64_t steps);

 private:
  friend struct TrainerInternals;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace elixir::runtime
