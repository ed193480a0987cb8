// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The CUDA device. The calling thread issues compute tasks on their own stream. One thread for each
// stream of copies issues these, one thread those of both streams between ranks, and another one
// gives cpu tasks to AdamW's threads. A lane waits for other lanes only where a task says so (on
// the GPU through events), so copies, AdamW on the CPU and compute overlap, and two steps do.
//
// Static buffers are one cudaMalloc per slab on the device, and pinned memory on the host.
// Operators use LibTorch's caching allocator, which gets the rest of the limit.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>

#include <ATen/Context.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/log.h"
#include "core/units.h"
#include "kernels/cuda_kernels.h"
#include "kernels/time_slice.h"
#include "replay/cuda_status.h"
#include "replay/dropout_state.h"
#include "replay/launch_errors.h"
#include "replay/replay_call.h"
#include "runtime/device/cuda/cuda_streams.h"
#include "runtime/device/cuda/pinned_memory.h"
#include "runtime/device/cuda/waiting_copies.h"
#include "runtime/device/device.h"
#include "runtime/device/ordered_times.h"
#include "runtime/device/parts.h"
#include "runtime/device/steps_under_way.h"
#include "runtime/ranks/device_communicator.h"

namespace elixir::runtime {
namespace {

using replay::check_cuda;
using Clock = std::chrono::steady_clock;
using schedule::Stream;

constexpr c10::DeviceIndex kDevice = 0;

/// The events of a task on its stream. An event with a time, or one that wakes a thread, holds up
/// its stream by 3 microseconds, and by 12 to 23 beside copies over the link
/// (docs/measured/slowdowns.md). An event that only streams wait for costs nothing.
struct TaskEvents {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;   ///< for the host
  cudaEvent_t done = nullptr;  ///< for other streams
};

/// A task of the cpu stream, by the host's clock.
struct HostTime {
  double ready_ns = 0;  ///< what it waits for had ended
  schedule::TaskTime ran;
};

/// A step between begin_step() and end_step().
struct RunningStep : LaneStep {
  std::vector<TaskEvents> events;    ///< by task id, at least
  std::vector<HostTime> host_times;  ///< by task id
  StepTasks tasks;
  cudaEvent_t begin = nullptr;  ///< on the compute stream
  double begin_ns = 0;          ///< `begin` by the host's clock, as far as it is known
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const DeviceOptions& options)
      : limit_bytes_(options.memory_limit_bytes),
        cpu_threads_(options.cpu_threads),
        before_task_(options.before_task),
        ranks_(communicator_of(options)),
        copies_(options.cpu_threads),
        streams_(kDevice, options, ranks_.get(), begin_lane) {
    for (RunningStep& step : steps_.all()) {
      check_cuda(cudaEventCreate(&step.begin), "creating an event");
    }
    limit_operators();
    log_use("context and communicators");
    kernels::ask_for_short_time_slices();  // this thread issues the operators
  }
  ~CudaDevice() override {
    abandon_steps();
    for (const RunningStep& step : steps_.all()) {
      for (const TaskEvents& events : step.events) {
        static_cast<void>(cudaEventDestroy(events.begin));
        static_cast<void>(cudaEventDestroy(events.end));
        static_cast<void>(cudaEventDestroy(events.done));
      }
      static_cast<void>(cudaEventDestroy(step.begin));
    }
    if (ranks_ != nullptr) ranks_->unshare();
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
      next = static_cast<char*>(allocate_shared(total));
      static_bytes_ += total;
      limit_operators();
      log_use("static buffers");
    } else {
      next = pinned_.emplace_back(total, cpu_threads_).data();
      host_bytes_ += total;
      log_use("locked host memory");
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
    check_ranks();
    copies_.copy(to, from, static_cast<std::size_t>(bytes), streams_.host_operations());
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
  [[nodiscard]] std::optional<std::int64_t> used_gpu_bytes() const override {
    return log_use("steps");
  }

  void seed(std::uint64_t seed) override {
    replay::reset_cudnn_dropout_state();
    at::Generator generator = at::globalContext().defaultGenerator(torch_device());
    const std::scoped_lock lock(generator.mutex());
    generator.set_current_seed(seed);
  }

  void begin_step(const StepTasks& tasks) override {
    RunningStep& step = steps_.begin(tasks.ids);
    step.tasks = tasks;
    while (step.events.size() < tasks.ids) {
      TaskEvents events;
      check_cuda(cudaEventCreate(&events.begin), "creating an event");
      // A lane that waits for it sleeps, and leaves its core to AdamW.
      check_cuda(cudaEventCreateWithFlags(&events.end, cudaEventBlockingSync), "creating an event");
      check_cuda(cudaEventCreateWithFlags(&events.done, cudaEventDisableTiming),
                 "creating an event");
      step.events.push_back(events);
    }
    step.host_times.assign(tasks.ids, {});
    c10::cuda::CUDACachingAllocator::resetPeakStats(kDevice);
    guard_.emplace(streams_.compute());
    below_.emplace();
    check_cuda(cudaEventRecord(step.begin, streams_.compute().stream()), "beginning a step");
    step.begin_ns = now_ns();
  }

  void issue(const schedule::Task& task, Body body) override {
    steps_.add(task);
    RunningStep& step = steps_.newest();
    RunningStep* const before = steps_.before();
    auto job = [this, &task, &step, before, body = std::move(body)]() mutable noexcept {
      run(task, step, before, body);
    };
    if (Lane* const lane = streams_.lane(task.stream)) {
      return steps_.push(task.stream, *lane, std::move(job));
    }
    job();
    steps_.rethrow_failures();
  }

  void end_issue() override {
    below_.reset();
    guard_.reset();
  }

  void wait_for(schedule::TaskId task) override {
    try {
      steps_.newest().board.wait(static_cast<std::size_t>(task));
    } catch (const TaskBoard::Abandoned&) {
      steps_.rethrow_failures();
    }
    if (steps_.newest().streams[task] == Stream::kCpu) return;
    synchronize(steps_.newest().events[task].end);
  }

  StepTimes end_step() override {
    require(steps_.count() > 0, "no step is under way");
    steps_.wait_for_oldest([this](Stream stream) { return streams_.lane(stream); });
    steps_.rethrow_failures();
    RunningStep& step = steps_.oldest();
    for (const schedule::TaskId task : last_tasks(step)) {
      synchronize(step.events[task].end);
    }
    StepTimes times = times_of(step);
    steps_.end_oldest();
    if (steps_.count() > 0) {
      // From one step to the next the GPU's clock counts.
      float ms = 0;
      if (cudaEventElapsedTime(&ms, step.begin, steps_.newest().begin) == cudaSuccess) {
        steps_.newest().begin_ns = times.begin_ns + 1e6 * static_cast<double>(ms);
      } else {
        static_cast<void>(cudaGetLastError());
      }
    }
    return times;
  }

  void abandon_steps() noexcept override {
    steps_.fail_all();
    streams_.wait_idle();
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaGetLastError());
    steps_.forget();
    end_issue();
  }

 private:
  [[nodiscard]] static std::unique_ptr<DeviceCommunicator> communicator_of(
      const DeviceOptions& options) {
    if (options.ranks == nullptr || options.ranks->world() == 1) return nullptr;
    check_cuda(cudaSetDevice(kDevice), "choosing the GPU");
    return make_device_communicator(*options.ranks, options.grid, options.nccl_adds_up);
  }
  /// Memory that other ranks can write to.
  void* allocate_shared(std::int64_t bytes) {
    if (ranks_ == nullptr) return allocate_uncharged(bytes);
    const std::int64_t shared = std::max(bytes, DeviceCommunicator::kLeastSharedBytes);
    void* memory = allocate_uncharged(shared);
    ranks_->share(memory, shared);
    return memory;
  }
  void check_ranks() const {
    if (ranks_ != nullptr) ranks_->check();
  }
  /// Waits for the event. Without its rank a collective ends too, with garbage.
  void synchronize(cudaEvent_t event) const {
    const cudaError_t status = cudaEventSynchronize(event);
    check_ranks();
    check_cuda(status, "waiting for the GPU");
  }
  [[nodiscard]] c10::CachingAllocator::Stat allocated() const {
    return c10::cuda::CUDACachingAllocator::getDeviceStats(kDevice).allocated_bytes[0];
  }
  /// Says how much of the GPU's memory is in use since there is what `with` names, and returns it.
  std::int64_t log_use(const char* with) const {
    std::size_t free_bytes = 0, total_bytes = 0;
    check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the GPU's free memory");
    const auto used_bytes = static_cast<std::int64_t>(total_bytes - free_bytes);
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(kDevice);
    log::verbose(
        fmt::format("GPU memory in use with {}: {} bytes, {} of them reserved for operators",
                    with,
                    format_count(used_bytes),
                    format_count(stats.reserved_bytes[0].current)));
    return used_bytes;
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

  /// Waits until a task of another stream was issued (device) or has finished (cpu). Then lets the
  /// task's lane or stream wait for its end.
  void await(const schedule::Task& task, RunningStep& other_step, schedule::TaskId other) {
    other_step.board.wait(static_cast<std::size_t>(other));
    if (other_step.streams[other] == Stream::kCpu) return;
    if (schedule::waits_on_host(task.stream)) {
      synchronize(other_step.events[other].end);
    } else {
      check_cuda(
          cudaStreamWaitEvent(streams_.gpu_stream(task.stream), other_step.events[other].done),
          "ordering streams");
    }
  }

  /// Runs on the task's lane. `before` is the step before, while it is under way.
  void run(const schedule::Task& task,
           RunningStep& step,
           RunningStep* before,
           Body& body) noexcept {
    const auto await_other = [&](RunningStep& other_step, schedule::TaskId other) {
      await(task, other_step, other);
    };
    steps_.run(task, step, before, await_other, [&] {
      if (before_task_) {
        before_task_(task, streams_.gpu_stream(task.stream));
      }
      if (task.stream == Stream::kCpu) {
        step.host_times[task.id].ready_ns = now_ns();
        body(streams_.host_operations());
        streams_.host_operations().when_ended([this, &task, &step] {
          HostTime& time = step.host_times[task.id];
          time.ran = ordered_.end(time.ready_ns, now_ns());
          steps_.settle(step, task);
        });
      } else {
        const TaskEvents& events = step.events[task.id];
        const schedule::Awaited awaited = step.tasks.ends[task.id];
        const auto record = [&](cudaEvent_t event) {
          check_cuda(cudaEventRecord(event, streams_.gpu_stream(task.stream)), "timing a task");
        };
        if (step.tasks.timed) record(events.begin);
        replay::with_launch_errors([&] { body(streams_.operations(task.stream)); });
        // Of a timed step the end comes first: what waits for the task begins after it, on the
        // GPU's clock.
        if (step.tasks.timed) record(events.end);
        if (awaited != schedule::Awaited::kByNobody) record(events.done);
        if (!step.tasks.timed && awaited == schedule::Awaited::kByHost) record(events.end);
        // There is always more state to load. Fetches must get between.
        if (task.stream == Stream::kDeviceUpdate) {
          kernels::leave_gap_cuda(streams_.gpu_stream(task.stream));
        }
        steps_.settle(step, task);
      }
    });
  }

  /// The last task of each stream of the GPU.
  [[nodiscard]] static std::vector<schedule::TaskId> last_tasks(const RunningStep& step) {
    std::array<schedule::TaskId, schedule::kStreamCount> last{};
    last.fill(-1);
    for (const schedule::Task* task : step.issued) {
      if (task->stream != Stream::kCpu) last[static_cast<std::size_t>(task->stream)] = task->id;
    }
    std::vector<schedule::TaskId> found;
    std::copy_if(last.begin(), last.end(), std::back_inserter(found), [](schedule::TaskId id) {
      return id >= 0;
    });
    return found;
  }
  [[nodiscard]] static double ns_since_begin(const RunningStep& step, cudaEvent_t event) {
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, step.begin, event), "timing a task");
    return 1e6 * static_cast<double>(ms);
  }

  /// Sets `begin_ns` too: the host cannot have seen a task of the GPU end before it did.
  [[nodiscard]] StepTimes times_of(RunningStep& step) const {
    for (const schedule::Task* task : step.issued) {
      if (task->stream != Stream::kCpu) continue;
      for (const schedule::TaskId id : task->after) {
        if (step.streams[id] == Stream::kCpu) continue;
        const double end_ns = ns_since_begin(step, step.events[id].end);
        step.begin_ns = std::min(step.begin_ns, step.host_times[task->id].ready_ns - end_ns);
      }
    }
    StepTimes times;
    times.begin_ns = times.end_ns = step.begin_ns;
    const auto ends_at = [&](double end_ns) { times.end_ns = std::max(times.end_ns, end_ns); };
    for (const schedule::TaskId id : last_tasks(step)) {
      ends_at(step.begin_ns + ns_since_begin(step, step.events[id].end));
    }
    for (const schedule::Task* task : step.issued) {
      if (task->stream == Stream::kCpu) ends_at(step.host_times[task->id].ran.end_ns);
    }
    if (step.tasks.timed) times.tasks = task_times(step);
    return times;
  }
  [[nodiscard]] static std::vector<schedule::TaskTime> task_times(const RunningStep& step) {
    std::vector<schedule::TaskTime> times(step.tasks.ids);
    for (const schedule::Task* task : step.issued) {
      if (task->stream == Stream::kCpu) {
        const schedule::TaskTime& by_host = step.host_times[task->id].ran;
        times[task->id] = {by_host.start_ns - step.begin_ns, by_host.end_ns - step.begin_ns};
      } else {
        const TaskEvents& events = step.events[task->id];
        times[task->id] = {ns_since_begin(step, events.begin), ns_since_begin(step, events.end)};
      }
    }
    return times;
  }

  [[nodiscard]] double now_ns() const {
    return std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
  }
  /// Lanes share cores with AdamW, and must not wait for them.
  static void begin_lane() {
    static_cast<void>(cudaSetDevice(kDevice));
    kernels::ask_for_short_time_slices();
  }

  std::int64_t limit_bytes_ = 0, static_bytes_ = 0, host_bytes_ = 0;
  int cpu_threads_;
  TaskHook before_task_;
  std::vector<void*> device_slabs_;
  std::vector<PinnedMemory> pinned_;
  std::unique_ptr<DeviceCommunicator> ranks_;  ///< nullptr: there is one rank
  WaitingCopies copies_;
  StepsUnderWay<RunningStep> steps_;
  const Clock::time_point start_ = Clock::now();
  OrderedTimes ordered_;  ///< of the cpu stream
  std::optional<c10::cuda::CUDAStreamGuard> guard_;
  std::optional<replay::ReplayScope> below_;
  CudaStreams streams_;  // last, because lanes use all members above
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

/// Then LibTorch's allocator reserves hardly more than is allocated, and how much does not depend
/// on where the driver places segments. Plans count on it. A user's own setting stays.
void use_expandable_segments() {
  for (const char* variable : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    if (std::getenv(variable) != nullptr) return;
  }
  c10::CachingAllocator::setAllocatorSettings("expandable_segments:True");
}

}  // namespace

std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options) {
  use_expandable_segments();
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
