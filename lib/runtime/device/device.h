// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The device that runs a schedule. The CPU device has two arenas of host memory, and runs tasks on
// the host in the order that `cpu_order` chooses. The CUDA device has streams, and threads that
// issue to them. Both count device memory and enforce its limit. The caller must issue tasks in the
// schedule's order, from one thread.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <c10/core/Device.h>

#include "runtime/cpu_order.h"
#include "runtime/device/step_times.h"
#include "runtime/device/stream_operations.h"
#include "runtime/device/task_body.h"
#include "runtime/task_hook.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

struct DeviceOptions {
  /// Limit for static buffers and operators' memory together, in bytes.
  std::int64_t memory_limit_bytes = 0;
  int cpu_threads = 1;
  int first_cpu = 0;  ///< CUDA: of this rank's `cpu_threads` CPUs, if there are as many
  int sm = 0;         ///< CUDA: the program's compute capability times ten
  /// CPU: operators' memory is NaN before its first write and after its release.
  bool poison = false;
  bool deterministic = false;     ///< use only deterministic operators
  CpuOrder cpu_order;             ///< CPU: when tasks run
  TaskHook before_task;           ///< may be empty; CPU: only with lanes
  Communicator* ranks = nullptr;  ///< for tasks of the streams between ranks; nullptr: one rank
  plan::RankGrid grid;            ///< of all these ranks
  bool nccl_adds_up = false;      ///< CUDA, with several: plan::reduces_by_nccl()
};

/// What a device has to know about the tasks of a step before they come.
struct StepTasks {
  std::size_t ids = 0;                  ///< their ids are below this
  std::vector<schedule::Awaited> ends;  ///< by id: schedule::awaited_ends()
  bool timed = false;                   ///< StepTimes::tasks is wanted
};

class Device {
 public:
  using Body = TaskBody;

  virtual ~Device() = default;
  [[nodiscard]] virtual c10::Device torch_device() const = 0;

  /// Allocates one slab of zeroed memory in `arena` and cuts it into parts of these sizes, which
  /// start at multiples of 512 bytes. It lives as long as the device. Device memory is charged.
  /// Throws kOutOfMemory.
  [[nodiscard]] virtual std::vector<void*> allocate(schedule::Arena arena,
                                                    const std::vector<std::int64_t>& bytes) = 0;
  /// Device memory that is not charged, for the poison of tests.
  [[nodiscard]] virtual void* allocate_uncharged(std::int64_t bytes) = 0;
  /// Copies bytes between any two places, outside a step. Runs after all earlier work of the
  /// device, on any stream, and is finished when it returns.
  virtual void copy_now(void* to, const void* from, std::int64_t bytes) = 0;

  virtual void set_memory_limit(std::int64_t bytes) = 0;
  /// Charged bytes: now, and the peak since begin_step().
  [[nodiscard]] virtual std::int64_t charged_bytes() const = 0;
  [[nodiscard]] virtual std::int64_t peak_bytes() const = 0;
  [[nodiscard]] virtual std::int64_t host_bytes() const = 0;
  /// Memory of the GPU that is in use now, by every process; nullopt on the CPU device.
  [[nodiscard]] virtual std::optional<std::int64_t> used_gpu_bytes() const { return std::nullopt; }

  /// Seeds the generator that operators use.
  virtual void seed(std::uint64_t seed) = 0;

  /// Begins a step. At most one earlier step may be under way, which means that end_step() has not
  /// returned for it yet.
  virtual void begin_step(const StepTasks& tasks) = 0;
  /// Runs `body` on the task's stream, after everything in `task.after`, and while the step before
  /// is under way after everything in `task.after_previous`. Bodies of compute tasks run before
  /// issue() returns and may call LibTorch. Other bodies may run later on another thread, and must
  /// hold only pointers. `task` must outlive the step. Rethrows a failure of any step under way.
  virtual void issue(const schedule::Task& task, Body body) = 0;
  /// All tasks of the newest step have been issued.
  virtual void end_issue() = 0;
  /// Waits until the task of the newest step has finished. The host must await its end (StepTasks).
  virtual void wait_for(schedule::TaskId task) = 0;
  /// Waits for all tasks of the oldest step under way and rethrows the first failure.
  [[nodiscard]] virtual StepTimes end_step() = 0;
  /// After a failure: waits for running work and discards the steps under way.
  virtual void abandon_steps() noexcept = 0;
};

[[nodiscard]] std::unique_ptr<Device> make_cpu_device(const DeviceOptions& options);
/// Throws kNoGpu without a usable GPU, kMissingFeature in a build without CUDA, kWrongMachineKind,
/// kMachineTooSmall.
[[nodiscard]] std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options);

}  // namespace elixir::runtime
