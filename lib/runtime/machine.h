// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether this machine can run a plan: device kind, compute capability, and memory of at least the
// budgets. It checks compatibility, not identity, and runs before anything is allocated.

#include <cstdint>
#include <optional>
#include <string>

#include "plan/plan.h"
#include "runtime/trainer_options.h"

namespace elixir::runtime {

struct Machine {
  struct Gpu {
    std::string name;
    int sm = 0;  ///< compute capability times ten
    std::int64_t memory_bytes = 0;
  };
  std::int64_t host_memory_bytes = 0;
  program::CpuIsa isa = program::CpuIsa::kUnsaid;  ///< kUnsaid matches every plan
  std::optional<Gpu> gpu;                          ///< the first one
  int gpus = 0;
  std::string why_no_gpu;  ///< "built without CUDA", the driver's message, …
};
/// Asks the operating system, LibTorch, and CUDA if the build has it.
[[nodiscard]] Machine this_machine();

/// Throws kWrongMachineKind when a program captured for the CPU `wanted` should run on the CPU
/// `here`, both are known and they differ: LibTorch would dispatch other operators than planned.
void check_cpu(program::CpuIsa wanted, program::CpuIsa here);

/// `wanted` is the value of --device: kAuto takes the plan's. kNoGpu (a GPU is asked for and there
/// is none), kWrongMachineKind (another kind of device, or compute capability, than the plan's),
/// kMachineTooSmall.
[[nodiscard]] DeviceKind choose_device(program::DeviceChoice wanted,
                                       const plan::Plan& plan,
                                       const Machine& machine);

/// Throws kMachineTooSmall when this machine has too few GPUs, or too little memory, for `ranks`
/// ranks of the plan.
void check_ranks(const plan::Plan& plan, DeviceKind device, int ranks, const Machine& machine);

}  // namespace elixir::runtime
