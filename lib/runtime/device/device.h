// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where a schedule runs. The CPU device has two arenas of host memory and runs every task on the
// calling thread when it is issued; the CUDA device has streams, and threads that issue to them.
// Both account for device memory and enforce its limit. The caller issues tasks in the schedule's
// order from one thread.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <c10/core/Device.h>

#include "runtime/device/stream_operations.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"

namespace elixir::runtime {

struct DeviceOptions {
  /// Bytes that static buffers and operators' memory may take together.
  std::int64_t memory_limit_bytes = 0;
  int cpu_threads = 1;
  int sm = 0;  ///< compute capability times ten that the program was captured for, CUDA only
  /// CPU: operators' memory is NaN before its first write and after its release.
  /// CPU: memory of operators is NaN before its first write and after its release.
  bool poison = false;
  bool deterministic = false;  ///< deterministic operators only
};

class Device {
 public:
  using Body = std::function<void(StreamOperations&)>;

  virtual ~Device() = default;
  [[nodiscard]] virtual c10::Device torch_device() const = 0;

  /// One slab of zeroed memory in `arena`, cut into parts of these sizes that start at multiples of
  /// 512 bytes. Lives as long as the device. Device parts are charged. kOutOfMemory.
  [[nodiscard]] virtual std::vector<void*> allocate(schedule::Arena arena,
                                                    const std::vector<std::int64_t>& bytes) = 0;
  /// Device memory that is not charged, for tests' poison.
  [[nodiscard]] virtual void* allocate_uncharged(std::int64_t bytes) = 0;
  /// Moves bytes between any two places outside a step: after everything that was issued to the
  /// device before, on whatever stream, and finished when it returns.
  virtual void copy_now(void* to, const void* from, std::int64_t bytes) = 0;

  virtual void set_memory_limit(std::int64_t bytes) = 0;
  /// Charged bytes, at present and at most since begin_step().
  [[nodiscard]] virtual std::int64_t charged_bytes() const = 0;
  [[nodiscard]] virtual std::int64_t peak_bytes() const = 0;
  [[nodiscard]] virtual std::int64_t host_bytes() const = 0;

  /// Seeds the generator operators draw from.
  virtual void seed(std::uint64_t seed) = 0;

  virtual void begin_step(std::size_t tasks) = 0;
  /// Runs `body` on the task's stream after everything in `task.after`. Compute tasks' bodies run
  /// before issue() returns and may call LibTorch; others may run later, on another thread, and
  /// hold pointers only.
  virtual void issue(const schedule::Task& task, Body body) = 0;
  /// Waits for all tasks; rethrows the first failure of one. Times by task id, from begin_step().
  virtual std::vector<schedule::TaskTime> end_step() = 0;
  /// After a failure: waits for what runs and forgets the step.
  virtual void abandon_step() noexcept = 0;
};

[[nodiscard]] std::unique_ptr<Device> make_cpu_device(const DeviceOptions& options);
/// kNoGpu without a usable GPU, kMissingFeature in a build without CUDA, kWrongMachineKind,
/// kMachineTooSmall.
[[nodiscard]] std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options);

}  // namespace elixir::runtime
