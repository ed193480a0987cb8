// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The CPU device. "device" and "host" are two arenas of this machine's memory. Device memory is
// charged to the counting allocator's account of the process: static buffers when they are
// allocated, operators' memory while they run. So its peak is exact and its limit is hard.
#include <mutex>
#include <new>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "kernels/host_arena.h"
#include "replay/counting_allocator.h"
#include "replay/replay_call.h"
#include "runtime/device/cpu/task_order.h"
#include "runtime/device/device.h"
#include "runtime/device/parts.h"

namespace elixir::runtime {
namespace {

/// Zeroed pages that are allocated at first use, because a test's arena may be larger than what it
/// touches.
kernels::HostArena make_slab(std::int64_t bytes) {
  try {
    return kernels::HostArena(static_cast<std::size_t>(bytes));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kOutOfMemory, "the system has no {} left", format_bytes(bytes));
  }
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const DeviceOptions& options)
      : operations_(make_host_operations({.threads = options.cpu_threads, .ranks = options.ranks})),
        order_(make_task_order(
            options.cpu_order,
            {.caller = *operations_,
             .make_operations =
                 [threads = options.cpu_threads, ranks = options.ranks](HostUpdates updates) {
                   return make_host_operations(
                       {.threads = threads, .ranks = ranks, .updates = updates});
                 },
             .start_lane = replay::never_charge_this_thread,
             .before_task = options.before_task})) {
    replay::install_counting_allocator();
    replay::set_poison(options.poison ? replay::Poison::kNaN : replay::Poison::kNone);
    account().set_limit(options.memory_limit_bytes);
    at::globalContext().setDeterministicAlgorithms(options.deterministic, /*warn_only=*/false);
    at::globalContext().setDeterministicFillUninitializedMemory(false);
  }
  ~CpuDevice() override {
    order_->abandon_steps();
    account().uncharge(static_bytes_);
    account().clear_limit();
    replay::set_poison(replay::Poison::kNone);
  }
  CpuDevice(const CpuDevice&) = delete;
  CpuDevice& operator=(const CpuDevice&) = delete;

  [[nodiscard]] c10::Device torch_device() const override { return c10::Device(c10::kCPU); }

  std::vector<void*> allocate(schedule::Arena arena,
                              const std::vector<std::int64_t>& bytes) override {
    const std::int64_t total = bytes_of_parts(bytes);
    if (arena == schedule::Arena::kDevice) {
      try {
        account().charge(total);
      } catch (const c10::OutOfMemoryError& error) {
        throw Error(ErrorCode::kOutOfMemory, error.what_without_backtrace());
      }
      static_bytes_ += total;
    } else {
      host_bytes_ += total;
    }
    return addresses_of_parts(slabs_.emplace_back(make_slab(total)).data(), bytes);
  }
  void* allocate_uncharged(std::int64_t bytes) override {
    return slabs_.emplace_back(make_slab(bytes)).data();
  }
  void copy_now(void* to, const void* from, std::int64_t bytes) override {
    order_->wait_idle();
    operations_->copy(to, from, bytes);
  }

  void set_memory_limit(std::int64_t bytes) override { account().set_limit(bytes); }
  [[nodiscard]] std::int64_t charged_bytes() const override { return account().charged_bytes(); }
  [[nodiscard]] std::int64_t peak_bytes() const override { return account().peak_bytes(); }
  [[nodiscard]] std::int64_t host_bytes() const override { return host_bytes_; }

  void seed(std::uint64_t seed) override {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::scoped_lock lock(generator.mutex());
    generator.set_current_seed(seed);
  }

  void begin_step(const StepTasks& tasks) override {
    account().reset_peak();
    order_->begin_step(tasks.ids);
  }
  void issue(const schedule::Task& task, Body body) override {
    if (task.kind != schedule::TaskKind::kCompute) return order_->issue(task, std::move(body));
    // It runs before issue() returns.
    order_->issue(task, [&body](StreamOperations& operations) {
      const replay::ChargeScope charge;
      const replay::ReplayScope replay;
      body(operations);
    });
  }
  void end_issue() override {}
  void wait_for(schedule::TaskId task) override { order_->wait_for(task); }
  StepTimes end_step() override { return order_->end_step(); }
  void abandon_steps() noexcept override { order_->abandon_steps(); }

 private:
  static replay::DeviceAccount& account() { return replay::DeviceAccount::instance(); }

  std::unique_ptr<HostOperations> operations_;  ///< of the calling thread
  std::vector<kernels::HostArena> slabs_;
  std::int64_t static_bytes_ = 0, host_bytes_ = 0;
  std::unique_ptr<TaskOrder> order_;  ///< last: its lanes use what is above
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const DeviceOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace elixir::runtime
