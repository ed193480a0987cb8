// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The trainer: executes a plan's schedule on a device by replaying the captured program below
// autograd, and owns parameters, optimizer state and buffers. One per process (it takes over the
// CPU allocator of LibTorch while operators run). Placement never changes the numbers: any two
// plans of a program on one kind of device and one CPU thread count give the same losses and
// weights, bit for bit.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "capture/capture.h"
#include "plan/plan.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"

namespace elixir::runtime {

enum class DeviceKind : std::uint8_t { kCpu, kCuda };

struct OptimizerOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;
  std::vector<std::string> no_decay;  ///< glob patterns over parameter names
  double clip_norm = 0.0;             ///< 0: off
};

/// Told while parameters are filled, on the calling thread: the share of bytes done, and the name of
/// the parameter that comes next.
using FillProgress = std::function<void(double done_fraction, const std::string& parameter)>;

struct TrainerOptions {
  DeviceKind device = DeviceKind::kCpu;
  OptimizerOptions optimizer;
  std::uint64_t seed = 0;
  int cpu_threads = 0;           ///< 0: LibTorch's default; used for operators and for AdamW alike
  bool poison_evicted = false;   ///< fill evicted blocks and released memory with NaN
  bool deterministic = false;    ///< deterministic operators only
  bool keep_task_times = false;  ///< fill StepReport::tasks
  FillProgress on_fill;          ///< may be empty
};

/// Data of one parameter or buffer, asked for by name once at start: a dense CPU tensor of the
/// program's geometry. Undefined: it stays zero until the caller sets it (a resumed run).
using TensorSource = std::function<at::Tensor(const std::string& name)>;

struct MemoryUse {
  std::int64_t peak_device_bytes = 0;  ///< measured by the device's allocator, 512-byte rounding
  std::int64_t host_bytes = 0;         ///< host arena
};

struct StepReport {
  double loss = 0;                      ///< mean over micro-batches
  std::vector<float> micro_losses;      ///< as computed, one a micro-batch
  std::optional<double> gradient_norm;  ///< with clipping
  double step_ns = 0;                   ///< wall clock
  std::array<double, schedule::kStreamCount> busy_ns{};
  MemoryUse memory;
  plan::Traffic traffic;  ///< counted where bytes move
  std::vector<schedule::TaskTime> tasks;
};

/// One batch: CPU tensors in Program::inputs order, one vector a micro-batch.
using MicroBatches = std::vector<std::vector<at::Tensor>>;

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
  /// Tests only: replaces the schedule (a task removed).
  void replace_schedule_for_test(schedule::Schedule schedule);
  /// Tests only: another limit of the device arena than the plan's.
  void set_device_limit_for_test(std::int64_t bytes);

  /// State by any of a parameter's names, copied to CPU with the program's strides. `what`:
  /// "parameter" (training dtype), "master", "moment1", "moment2" (fp32). Undefined for optimizer
  /// state of a parameter that has none (frozen, without gradient, optimizer none).
  [[nodiscard]] at::Tensor state(const std::string& parameter, const std::string& what) const;
  [[nodiscard]] at::Tensor buffer(const std::string& name) const;
  /// Restores exactly what state()/buffer() gave. "master" sets the parameter too (rounded to its
  /// dtype), and "parameter" the master (widened). Between steps only.
  void set_state(const std::string& parameter, const std::string& what, const at::Tensor& value);
  void set_buffer(const std::string& name, const at::Tensor& value);
  void set_steps_done(std::int64_t steps);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace elixir::runtime
