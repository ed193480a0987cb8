// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Machines with round numbers, to test the simulator and the search.

#include "core/units.h"
#include "hardware/hardware_profile.h"

namespace elixir::fakes {

inline hardware::Figure figure(double median) {
  return {.median = median, .spread = 0, .samples = 1, .method = "made up for a test"};
}

/// Links 10 GB/s; AdamW 1e9, on a GPU 50e9 parameters/s; 1e12, on a GPU 1e14 FLOP/s; no latency.
inline hardware::HardwareProfile machine(bool cuda) {
  hardware::HardwareProfile profile;
  profile.name = cuda ? "fake-gpu" : "fake-cpu";
  profile.device_kind = cuda ? program::DeviceKind::kCuda : program::DeviceKind::kCpu;
  profile.machine = {.cpu = "fake", .logical_cpus = 2, .threads = 2, .host_memory_bytes = 64_GiB};
  if (cuda) {
    profile.gpus = {{.name = "fake", .sm = 90, .memory_bytes = 16_GiB, .context_bytes = 512_MiB}};
  }
  const hardware::LinkRate link{.gpus = 1, .bytes_per_s = figure(10e9), .latency_ns = figure(0)};
  profile.links.host_to_device = {link};
  profile.links.device_to_host = {link};
  for (const char* dtype : {"bf16", "fp32"}) {
    profile.adam_cpu.push_back({.dtype = dtype, .ranks = 1, .params_per_s = figure(1e9)});
    if (cuda) {
      profile.adam_gpu.push_back({.dtype = dtype, .ranks = 1, .params_per_s = figure(50e9)});
    }
    profile.compute.push_back({.dtype = dtype, .matmul_flop_per_s = figure(cuda ? 1e14 : 1e12)});
  }
  profile.device_copy_bytes_per_s = figure(cuda ? 2e12 : 20e9);
  profile.host_copy_bytes_per_s = figure(20e9);
  profile.launch_ns = figure(1000);
  return profile;
}

/// Machines of `gpus` GPUs: gathers 100 GB/s of what comes in, twice as long beside compute.
inline hardware::HardwareProfile machine_of(int gpus) {
  hardware::HardwareProfile profile = machine(true);
  profile.gpus.resize(static_cast<std::size_t>(gpus), profile.gpus.front());
  hardware::Collective gather{.operation = "all_gather", .gpus = gpus, .latency_ns = figure(1000)};
  for (const std::int64_t bytes : {1_MiB, 1_GiB}) {
    const double ns = static_cast<double>(bytes) * (gpus - 1) / gpus / 100e9 * 1e9;
    const double bytes_per_s = static_cast<double>(bytes) / ns * 1e9;
    gather.points.push_back({.bytes = bytes,
                             .time_ns = figure(ns),
                             .algorithm_bytes_per_s = bytes_per_s,
                             .bus_bytes_per_s = bytes_per_s * (gpus - 1) / gpus});
  }
  profile.collectives = {gather};
  profile.contention = {{.work = "all_gather", .beside = "matmul", .slowdown = figure(2)}};
  return profile;
}

}  // namespace elixir::fakes
