// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "capture/host_cpu.h"
#include "core/error.h"
#include "core/units.h"
#include "runtime/ranks/device_communicator.h"
#ifdef ELIXIR_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace elixir::runtime {
namespace {

void check_memory(const char* what,
                  std::int64_t has_bytes,
                  std::int64_t budget_bytes,
                  const char* flag) {
  if (has_bytes >= budget_bytes) return;
  Error error = Error(ErrorCode::kMachineTooSmall,
                      "the plan's {} budget is {}, this machine has {}: {} less",
                      what,
                      format_bytes(budget_bytes),
                      format_bytes(has_bytes),
                      format_bytes(budget_bytes - has_bytes))
                    .help("search again with {} of at most {}", flag, format_bytes(has_bytes));
  throw error;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.isa = capture::host_cpu_isa();
  machine.host_memory_bytes =
      static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
#ifdef ELIXIR_HAVE_CUDA
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaDeviceProp properties{};
  if (status != cudaSuccess || count == 0) {
    static_cast<void>(cudaGetLastError());
    machine.why_no_gpu = status == cudaSuccess ? "none found" : cudaGetErrorString(status);
  } else if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
    machine.why_no_gpu = cudaGetErrorString(cudaGetLastError());
  } else {
    machine.gpus = count;
    machine.gpu = Machine::Gpu{properties.name,
                               properties.major * 10 + properties.minor,
                               static_cast<std::int64_t>(properties.totalGlobalMem)};
  }
#else
  machine.why_no_gpu = "this build has no CUDA";
#endif
  return machine;
}

void check_cpu(program::CpuIsa wanted, program::CpuIsa here) {
  const program::Target planned{.kind = program::Target::Kind::kCpu, .sm = 0, .isa = wanted};
  const program::Target machine{.kind = program::Target::Kind::kCpu, .sm = 0, .isa = here};
  if (planned.goes_with(machine)) return;
  throw Error(ErrorCode::kWrongMachineKind,
              "the plan is for {}, this machine's CPU is {}: LibTorch dispatches other "
              "operators on it",
              planned.text(),
              machine.text())
      .help(
          "profile with --target cpu on this machine, or anywhere with --target {}, and search "
          "again",
          machine.text());
}

DeviceKind choose_device(program::DeviceChoice wanted,
                         const plan::Plan& plan,
                         const Machine& machine) {
  const DeviceKind chosen = device_of(wanted, plan.hardware.device_kind);
  const bool cuda = chosen == DeviceKind::kCuda;
  if (cuda && !machine.gpu) {
    throw Error(ErrorCode::kNoGpu, "no usable GPU: {}", machine.why_no_gpu)
        .help("profile with --target cpu, search with the hardware of a CPU, and train that plan");
  }
  if (chosen != plan.hardware.device_kind) {
    throw Error(ErrorCode::kWrongMachineKind,
                "the plan is for {}, the device asked for is {}",
                name_of(plan.hardware.device_kind),
                name_of(chosen))
        .help("profile with the other --target and search again, or choose --device auto");
  }
  if (cuda) {
    if (plan.hardware.sm != 0 && plan.hardware.sm != machine.gpu->sm) {
      throw Error(ErrorCode::kWrongMachineKind,
                  "the plan is for compute capability {}.{}, {} has {}.{}",
                  plan.hardware.sm / 10,
                  plan.hardware.sm % 10,
                  machine.gpu->name,
                  machine.gpu->sm / 10,
                  machine.gpu->sm % 10)
          .help("profile with --target cuda:sm_{} and search again", machine.gpu->sm);
    }
    check_memory(
        "GPU memory", machine.gpu->memory_bytes, plan.budgets.gpu_memory_bytes, "--gpu-memory");
    check_memory(
        "host memory", machine.host_memory_bytes, plan.budgets.host_memory_bytes, "--host-memory");
    return DeviceKind::kCuda;
  }
  check_cpu(plan.hardware.isa, machine.isa);
  check_memory(
      "device memory", machine.host_memory_bytes, plan.budgets.gpu_memory_bytes, "--gpu-memory");
  check_memory(
      "host memory", machine.host_memory_bytes, plan.budgets.host_memory_bytes, "--host-memory");
  // On the CPU device both arenas are this machine's memory.
  const std::int64_t needed_bytes = plan.predicted.peak_allocated_bytes + plan.predicted.host_bytes;
  if (needed_bytes > machine.host_memory_bytes) {
    throw Error(ErrorCode::kMachineTooSmall,
                "the plan needs {} for device and host together, this machine has {}: "
                "{} less",
                format_bytes(needed_bytes),
                format_bytes(machine.host_memory_bytes),
                format_bytes(needed_bytes - machine.host_memory_bytes))
        .help("search again with smaller budgets");
  }
  return DeviceKind::kCpu;
}

void check_ranks(const plan::Plan& plan, DeviceKind device, int ranks, const Machine& machine) {
  if (ranks == 1) return;
  const bool cuda = device == DeviceKind::kCuda;
  if (cuda && machine.gpus < ranks && std::getenv(kShareGpusVariable) == nullptr) {
    throw Error(ErrorCode::kMachineTooSmall,
                "the plan is for {} GPUs in this machine, which has {}",
                ranks,
                machine.gpus)
        .help("search again with --gpus {}", std::max(machine.gpus, 1));
  }
  // The memory of the CPU device is the host's too.
  const std::int64_t each_bytes =
      cuda ? plan.predicted.host_bytes
           : plan.predicted.peak_allocated_bytes + plan.predicted.host_bytes;
  const std::int64_t all_bytes = ranks * each_bytes;
  if (all_bytes <= machine.host_memory_bytes) return;
  throw Error(ErrorCode::kMachineTooSmall,
              "{} ranks need {} of host memory, this machine has {}: {} less",
              ranks,
              format_bytes(all_bytes),
              format_bytes(machine.host_memory_bytes),
              format_bytes(all_bytes - machine.host_memory_bytes))
      .help("search again with {} of at most {}, for each rank",
            cuda ? "--host-memory" : "--host-memory and --gpu-memory together",
            format_bytes(machine.host_memory_bytes / ranks));
}

}  // namespace elixir::runtime
