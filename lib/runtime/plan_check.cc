// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/plan_check.h"

#include "capture/host_cpu.h"
#include "core/error.h"
#include "program/trainable.h"
#include "runtime/machine.h"

namespace elixir::runtime {
namespace {

void check_moments(const plan::Plan& plan, const OptimizerOptions& options) {
  if (options.beta2 <= plan::largest_beta2_of(plan.moment_dtype)) return;
  throw Error(ErrorCode::kConflictingFlags,
              "the plan keeps moments in bf16, where a beta2 of {} never lets them decay",
              options.beta2)
      .help("at most {:.3f}; the plan's own beta2 is {}",
            plan::largest_beta2_of(plan.moment_dtype),
            plan.beta2)
      .help("or search again with --moments fp32");
}

}  // namespace

void check_plan(const plan::Plan& plan,
                const program::Program& program,
                const TrainerOptions& options) {
  plan::check_against(plan, program);
  const DeviceKind device = options.device;
  const int world = options.ranks.world();
  const bool cuda = device == DeviceKind::kCuda;
  if (plan.hardware.device_kind != device || program.target.kind != device) {
    throw Error(ErrorCode::kWrongMachineKind,
                "the plan is for {} and the program for {}, the device is {}",
                name_of(plan.hardware.device_kind),
                program.target.text(),
                name_of(device))
        .help("choose the plan's device, or profile and search again for this one");
  }
  if (!cuda) check_cpu(program.target.isa, capture::host_cpu_isa());
  if (plan.world != world) {
    Error error(ErrorCode::kMissingFeature,
                "the plan is for {} ranks, this training has {}",
                plan.world,
                world);
    throw error.help("search again with --gpus {}", world);
  }
  if (!program::is_trained(plan.optimizer)) {
    throw Error(ErrorCode::kInconsistentPlan,
                "the plan is for optimizer {}, with which Elixir does not train",
                name_of(plan.optimizer))
        .help("profile with --optimizer adamw, and search again");
  }
  if (plan.optimizer != program::Optimizer::kNone) program::refuse_untrainable(program);
  const std::int64_t room_bytes = plan.budgets.gpu_memory_bytes - plan.budgets.gpu_context_bytes;
  if (plan.predicted.peak_allocated_bytes > room_bytes) {
    throw Error(ErrorCode::kInconsistentPlan,
                "the plan needs {} bytes of device memory and its budget leaves {}, {} "
                "bytes less",
                plan.predicted.peak_allocated_bytes,
                room_bytes,
                plan.predicted.peak_allocated_bytes - room_bytes)
        .help("search again with this budget");
  }
  check_moments(plan, options.optimizer);
}

}  // namespace elixir::runtime
