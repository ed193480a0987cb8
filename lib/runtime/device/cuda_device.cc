// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The CUDA device. The calling thread issues compute tasks on their own stream. One thread per
// direction issues copies, and a fourth thread runs cpu tasks. A lane waits for other lanes only
// where a task says so (on the GPU through events), so copies, AdamW on the CPU and compute
// overlap.
//
// Static buffers are one cudaMalloc per slab on the device, and pinned memory on the host.
// Operators use LibTorch's caching allocator, which gets the rest of the limit.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <utility>

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "kernels/cuda_kernels.h"
#include "replay/cuda_status.h"
#include "replay/dropout_state.h"
#include "replay/launch_errors.h"
#include "replay/replay_call.h"
#include "runtime/device/device.h"
#include "runtime/device/lane.h"
#include "runtime/device/parts.h"
#include "runtime/device/pinned_memory.h"
#include "runtime/device/task_board.h"
#include "runtime/device/waiting_copies.h"

namespace elixir::runtime {
namespace {

using replay::check_cuda;
using Clock = std::chrono::steady_clock;
using schedule::Stream;

constexpr c10::DeviceIndex kDevice = 0;

class CudaOperations final : public StreamOperations {
 public:
  explicit CudaOperations(cudaStream_t stream) : stream_(stream) {}
  void copy(void* to, const void* from, std::int64_t bytes) override {
    check_cuda(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_),
        "copying");
  }
  void poison(void* memory, std::int64_t bytes) override {
    kernels::poison_cuda(memory, static_cast<std::size_t>(bytes), stream_);
  }
  void adam(const kernels::AdamArrays& arrays,
            const kernels::AdamScalars& scalars,
            std::uint32_t* report) override {
    kernels::adam_cuda(arrays, scalars, stream_, {.skip = nullptr, .report = report});
  }
  void sum_squares(const void* gradient,
                   kernels::Element type,
                   std::size_t n,
                   float divisor,
                   float* sums) override {
    kernels::sum_squares_cuda(gradient, type, n, divisor, sums, stream_);
  }
  void accumulate(float* sum,
                  const void* gradient,
                  kernels::Element type,
                  std::size_t n,
                  kernels::Accumulate how) override {
    kernels::accumulate_cuda(sum, gradient, type, n, how, stream_);
  }

 private:
  cudaStream_t stream_;
};

/// The events at start and end of a task on its stream.
struct TaskEvents {
  cudaEvent_t begin = nullptr, end = nullptr;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const DeviceOptions& options)
      : limit_bytes_(options.memory_limit_bytes),
        cpu_threads_(options.cpu_threads),
        compute_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, kDevice)),
        host_to_device_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, kDevice)),
        device_to_host_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, kDevice)),
        compute_operations_(compute_.stream()),
        host_to_device_operations_(host_to_device_.stream()),
        device_to_host_operations_(device_to_host_.stream()),
        cpu_operations_(make_host_operations(options.cpu_threads)),
        copies_(options.cpu_threads) {
    check_cuda(cudaEventCreate(&step_begin_), "creating an event");
    limit_operators();
  }
  ~CudaDevice() override {
    abandon_step();
    for (const TaskEvents& events : events_) {
      static_cast<void>(cudaEventDestroy(events.begin));
      static_cast<void>(cudaEventDestroy(events.end));
    }
    static_cast<void>(cudaEventDestroy(step_begin_));
    for (void* slab : device_slabs_) static_cast<void>(cudaFree(slab));
    c10::cuda::CUDACachingAllocator::setMemoryFraction(1.0, kDevice);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] c10::Device torch_device() const override { return {c10::kCUDA, kDevice}; }

  std::vector<void*> allocate(schedule::Arena arena,
                              const std::vector<std::int64_t>& bytes) override {
    const std::int64_t total = bytes_of_parts(bytes);
    char* next = nullptr;
    if (arena == schedule::Arena::kDevice) {
      if (total > limit_bytes_ - static_bytes_) {
        throw Error(ErrorCode::kOutOfMemory,
                    "static buffers need {} more bytes of device memory, {} of {} are "
                    "in use",
                    total,
                    static_bytes_,
                    limit_bytes_);
      }
      next = static_cast<char*>(allocate_uncharged(total));
      static_bytes_ += total;
      limit_operators();
    } else {
      next = pinned_.emplace_back(total, cpu_threads_).data();
      host_bytes_ += total;
    }
    return addresses_of_parts(next, bytes);
  }
  void* allocate_uncharged(std::int64_t bytes) override {
    void* memory = nullptr;
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    check_cuda(cudaMalloc(&memory, size), "allocating static buffers");
    device_slabs_.push_back(memory);
    copies_.clear(memory, size);
    return memory;
  }
  void copy_now(void* to, const void* from, std::int64_t bytes) override {
    check_cuda(cudaDeviceSynchronize(),
               "waiting for the GPU");  // earlier work must finish first
    copies_.copy(to, from, static_cast<std::size_t>(bytes), *cpu_operations_);
  }

  void set_memory_limit(std::int64_t bytes) override {
    limit_bytes_ = bytes;
    c10::cuda::CUDACachingAllocator::emptyCache();  // a cache would escape the limit
    limit_operators();
  }
  [[nodiscard]] std::int64_t charged_bytes() const override {
    return static_bytes_ + allocated().current;
  }
  [[nodiscard]] std::int64_t peak_bytes() const override {
    return static_bytes_ + allocated().peak;
  }
  [[nodiscard]] std::int64_t host_bytes() const override { return host_bytes_; }

  void seed(std::uint64_t seed) override {
    replay::reset_cudnn_dropout_state();
    at::Generator generator = at::globalContext().defaultGenerator(torch_device());
    const std::scoped_lock lock(generator.mutex());
    generator.set_current_seed(seed);
  }

  void begin_step(std::size_t tasks) override {
    while (events_.size() < tasks) {
      TaskEvents events;
      check_cuda(cudaEventCreate(&events.begin), "creating an event");
      check_cuda(cudaEventCreate(&events.end), "creating an event");
      events_.push_back(events);
    }
    board_.reset(tasks);
    streams_.assign(tasks, Stream::kCompute);
    host_times_.assign(tasks, {});
    c10::cuda::CUDACachingAllocator::resetPeakStats(kDevice);
    guard_.emplace(compute_);
    below_.emplace();
    check_cuda(cudaEventRecord(step_begin_, compute_.stream()), "beginning a step");
    start_ = Clock::now();
  }

  void issue(const schedule::Task& task, Body body) override {
    streams_[task.id] = task.stream;
    // The reference stays valid, because the task is part of the schedule and outlives the step.
    const auto job = [this, &task, body = std::move(body)]() noexcept { run(task, body); };
    switch (task.stream) {
      case Stream::kHostToDevice:
        return host_to_device_lane_.push(job);
      case Stream::kDeviceToHost:
        return device_to_host_lane_.push(job);
      case Stream::kCpu:
        return cpu_lane_.push(job);
      case Stream::kCompute:
      case Stream::kCollective:
        break;
    }
    require(task.stream == Stream::kCompute, "a collective task on one GPU");
    job();
    if (board_.failed()) rethrow_failure();
  }

  std::vector<schedule::TaskTime> end_step() override {
    wait_idle();
    if (board_.failed()) rethrow_failure();
    synchronize();
    leave_step();
    std::vector<schedule::TaskTime> times(streams_.size());
    for (std::size_t id = 0; id < streams_.size(); ++id) {
      if (streams_[id] == Stream::kCpu) {
        times[id] = host_times_[id];
        continue;
      }
      float begin_ms = 0, end_ms = 0;
      // An edited schedule may lack a task. Its events were never recorded.
      if (cudaEventElapsedTime(&begin_ms, step_begin_, events_[id].begin) != cudaSuccess ||
          cudaEventElapsedTime(&end_ms, step_begin_, events_[id].end) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        continue;
      }
      times[id] = {1e6 * static_cast<double>(begin_ms), 1e6 * static_cast<double>(end_ms)};
    }
    return times;
  }

  void abandon_step() noexcept override {
    board_.fail(nullptr);
    wait_idle();
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaGetLastError());
    leave_step();
  }

 private:
  [[nodiscard]] c10::CachingAllocator::Stat allocated() const {
    return c10::cuda::CUDACachingAllocator::getDeviceStats(kDevice).allocated_bytes[0];
  }
  /// Gives LibTorch's allocator what static buffers leave of the limit.
  void limit_operators() const {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, kDevice), "asking the GPU");
    // One byte more, because the allocator rounds the product with this share down to whole bytes.
    const double share = static_cast<double>(limit_bytes_ - static_bytes_ + 1) /
                         static_cast<double>(properties.totalGlobalMem);
    c10::cuda::CUDACachingAllocator::setMemoryFraction(std::clamp(share, 0.0, 1.0), kDevice);
  }

  [[nodiscard]] cudaStream_t stream_of(Stream stream) const {
    switch (stream) {
      case Stream::kHostToDevice:
        return host_to_device_.stream();
      case Stream::kDeviceToHost:
        return device_to_host_.stream();
      default:
        return compute_.stream();
    }
  }
  StreamOperations& operations_of(Stream stream) {
    switch (stream) {
      case Stream::kHostToDevice:
        return host_to_device_operations_;
      case Stream::kDeviceToHost:
        return device_to_host_operations_;
      case Stream::kCpu:
        return *cpu_operations_;
      default:
        return compute_operations_;
    }
  }

  /// Runs on the task's lane. Failures go to the board.
  void run(const schedule::Task& task, const Body& body) noexcept {
    try {
      const bool on_host = task.stream == Stream::kCpu;
      for (const schedule::TaskId id : task.after) {
        if (streams_[id] == task.stream) continue;  // lanes keep their own order
        board_.wait(id);
        if (streams_[id] == Stream::kCpu) continue;  // a settled cpu task has finished
        if (on_host) {
          check_cuda(cudaEventSynchronize(events_[id].end), "waiting for the GPU");
        } else {
          check_cuda(cudaStreamWaitEvent(stream_of(task.stream), events_[id].end),
                     "ordering streams");
        }
      }
      if (board_.failed()) return;
      if (on_host) {
        const double start_ns = now_ns();
        body(*cpu_operations_);
        host_times_[task.id] = {start_ns, now_ns()};
      } else {
        check_cuda(cudaEventRecord(events_[task.id].begin, stream_of(task.stream)),
                   "starting a task");
        replay::with_launch_errors([&] { body(operations_of(task.stream)); });
        check_cuda(cudaEventRecord(events_[task.id].end, stream_of(task.stream)), "ending a task");
      }
      board_.settle(task.id);
    } catch (const TaskBoard::Abandoned&) {  // another lane has reported the failure
    } catch (...) {
      board_.fail(std::current_exception());
    }
  }

  [[noreturn]] void rethrow_failure() {
    if (const std::exception_ptr failure = board_.failure()) std::rethrow_exception(failure);
    throw Error(ErrorCode::kInternal, "a step was abandoned without a reason");
  }
  void wait_idle() {
    host_to_device_lane_.wait_idle();
    device_to_host_lane_.wait_idle();
    cpu_lane_.wait_idle();
  }
  void synchronize() {
    for (const auto& stream : {compute_, host_to_device_, device_to_host_}) {
      check_cuda(cudaStreamSynchronize(stream.stream()), "finishing a step");
    }
  }
  void leave_step() noexcept {
    below_.reset();
    guard_.reset();
  }
  [[nodiscard]] double now_ns() const {
    return std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
  }
  static void use_device() { static_cast<void>(cudaSetDevice(kDevice)); }

  std::int64_t limit_bytes_ = 0, static_bytes_ = 0, host_bytes_ = 0;
  int cpu_threads_;
  std::vector<void*> device_slabs_;
  std::vector<PinnedMemory> pinned_;
  c10::cuda::CUDAStream compute_, host_to_device_, device_to_host_;
  CudaOperations compute_operations_, host_to_device_operations_, device_to_host_operations_;
  std::unique_ptr<StreamOperations> cpu_operations_;
  WaitingCopies copies_;
  std::vector<TaskEvents> events_;
  cudaEvent_t step_begin_ = nullptr;
  TaskBoard board_;
  std::vector<Stream> streams_;  ///< by task id; written before the task goes to its lane
  std::vector<schedule::TaskTime> host_times_;
  Clock::time_point start_;
  std::optional<c10::cuda::CUDAStreamGuard> guard_;
  std::optional<replay::ReplayScope> below_;
  Lane host_to_device_lane_{use_device};
  Lane device_to_host_lane_{use_device};
  Lane cpu_lane_{use_device};
};

void check_machine(const DeviceOptions& options) {
  if (const auto why = replay::why_no_gpu()) {
    throw Error(ErrorCode::kNoGpu, "no usable GPU: {}", *why)
        .help("train on the CPU with a plan for it (--device cpu)");
  }
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, kDevice), "asking the GPU");
  const int sm = properties.major * 10 + properties.minor;
  if (options.sm != 0 && options.sm != sm) {
    throw Error(ErrorCode::kWrongMachineKind,
                "the plan is for compute capability {}.{}, {} has {}.{}",
                options.sm / 10,
                options.sm % 10,
                properties.name,
                properties.major,
                properties.minor)
        .help("profile and search again for this GPU (--target)");
  }
  if (static_cast<std::int64_t>(properties.totalGlobalMem) < options.memory_limit_bytes) {
    throw Error(ErrorCode::kMachineTooSmall,
                "the plan's device budget is {}, {} has {}",
                format_bytes(options.memory_limit_bytes),
                properties.name,
                format_bytes(static_cast<std::int64_t>(properties.totalGlobalMem)))
        .help("search again with a smaller --gpu-memory");
  }
}

}  // namespace

std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options) {
  // cuBLAS reads it when its first handle is created. A fixed workspace makes its choices
  // repeatable.
  if (options.deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  check_machine(options);
  at::Context& context = at::globalContext();
  context.lazyInitDevice(c10::kCUDA);
  context.setDeterministicAlgorithms(options.deterministic, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(options.deterministic);
  context.setBenchmarkCuDNN(false);
  return std::make_unique<CudaDevice>(options);
}

}  // namespace elixir::runtime
