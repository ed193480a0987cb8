// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The CPU device. "device" and "host" are two arenas of this machine's memory. Device memory is
// charged to the counting allocator's account of the process: static buffers when they are
// allocated, operators' memory while they run. So its peak is exact and its limit is hard.
#include <chrono>
#include <deque>
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
#include "runtime/device/device.h"
#include "runtime/device/parts.h"

namespace elixir::runtime {
namespace {

using Clock = std::chrono::steady_clock;

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
      : operations_(make_host_operations(options.cpu_threads)) {
    replay::install_counting_allocator();
    replay::set_poison(options.poison ? replay::Poison::kNaN : replay::Poison::kNone);
    account().set_limit(options.memory_limit_bytes);
    at::globalContext().setDeterministicAlgorithms(options.deterministic, /*warn_only=*/false);
    at::globalContext().setDeterministicFillUninitializedMemory(false);
  }
  ~CpuDevice() override {
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

  void begin_step(std::size_t tasks) override {
    account().reset_peak();
    StepTimes& step = under_way_.emplace_back();
    step.tasks.assign(tasks, {});
    step.begin_ns = step.end_ns = now_ns();
  }
  void issue(const schedule::Task& task, Body body) override {
    StepTimes& step = under_way_.back();
    const double start_ns = now_ns();
    if (task.kind == schedule::TaskKind::kCompute) {
      const replay::ChargeScope charge;
      const replay::ReplayScope replay;
      body(*operations_);
    } else {
      body(*operations_);
    }
    step.end_ns = now_ns();
    step.tasks.at(task.id) = {start_ns - step.begin_ns, step.end_ns - step.begin_ns};
  }
  void end_issue() override {}
  void wait_for(schedule::TaskId /*task*/) override {}
  StepTimes end_step() override {
    StepTimes times = std::move(under_way_.front());
    under_way_.pop_front();
    return times;
  }
  void abandon_steps() noexcept override { under_way_.clear(); }

 private:
  static replay::DeviceAccount& account() { return replay::DeviceAccount::instance(); }
  [[nodiscard]] double now_ns() const {
    return std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
  }

  std::unique_ptr<StreamOperations> operations_;
  std::vector<kernels::HostArena> slabs_;
  std::int64_t static_bytes_ = 0, host_bytes_ = 0;
  const Clock::time_point start_ = Clock::now();
  std::deque<StepTimes> under_way_;  ///< their tasks have all run
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const DeviceOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace elixir::runtime
