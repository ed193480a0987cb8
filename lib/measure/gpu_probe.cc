// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/gpu_probe.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/Sleep.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "core/error.h"

namespace elixir::measure {
namespace {

/// How long the GPU is kept busy while work is queued behind: about 0.3 ms at 2 GHz.
constexpr std::int64_t kHoldCycles = 600'000;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  throw Error(
      error == cudaErrorMemoryAllocation ? ErrorCode::kOutOfMemory : ErrorCode::kDeviceFailure,
      fmt::format("{}: {}", what, cudaGetErrorString(error)));
}

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

double seconds_between(const Event& start, const Event& end) {
  check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
  float ms = 0;
  check(cudaEventElapsedTime(&ms, start.get(), end.get()), "cudaEventElapsedTime");
  return static_cast<double>(ms) * 1e-3;
}

class Stream {
 public:
  Stream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

using Memory = std::unique_ptr<void, void (*)(void*)>;

Memory device_memory(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  Memory owned(memory, [](void* p) { cudaFree(p); });
  check(cudaMemset(memory, 0x3C, bytes), "cudaMemset");
  return owned;
}

Memory host_memory(std::size_t bytes, HostPages pages) {
  if (pages == HostPages::kPinned) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    return {memory, [](void* p) { cudaFreeHost(p); }};
  }
  return {::operator new(bytes), [](void* p) { ::operator delete(p); }};
}

/// Copies go from a pattern to memory of another value; afterwards the destination must hold the
/// pattern.
void verify(Direction direction, void* host, void* device, std::size_t bytes) {
  std::vector<unsigned char> got(std::min<std::size_t>(bytes, 65536));
  const void* at = direction == Direction::kDeviceToHost ? host : device;
  check(cudaMemcpy(got.data(), at, got.size(), cudaMemcpyDefault), "cudaMemcpy");
  for (const unsigned char byte : got) require(byte == 0x5A, "a copy arrived damaged");
}

}  // namespace

std::optional<std::string> gpu_unavailable() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  (void)cudaGetLastError();
  if (error == cudaErrorInsufficientDriver) return "this machine has no NVIDIA driver for CUDA 13";
  if (error == cudaErrorNoDevice || (error == cudaSuccess && devices == 0)) {
    return "this machine has no GPU";
  }
  if (error != cudaSuccess)
    return fmt::format("the GPU is not usable: {}", cudaGetErrorString(error));
  return std::nullopt;
}

hardware::Gpu describe_gpu() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  const auto bf16 = at::TensorOptions().device(at::kCUDA).dtype(at::kBFloat16);
  {
    const at::Tensor a = at::empty({256, 256}, bf16).fill_(0.5);
    (void)at::mm(a, a);
  }
  gpu_synchronize();
  std::size_t free_bytes = 0, total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  return {properties.name,
          properties.major * 10 + properties.minor,
          static_cast<std::int64_t>(total_bytes),
          static_cast<std::int64_t>(total_bytes - free_bytes) - stats.reserved_bytes[0].current};
}

std::vector<double> gpu_copy_seconds(
    Direction direction, HostPages pages, std::size_t bytes, int copies, const Sampling& sampling) {
  const Memory device = device_memory(bytes);
  const bool inside = direction == Direction::kDeviceToDevice;
  const Memory other = inside ? device_memory(bytes) : host_memory(bytes, pages);
  void* to = direction == Direction::kDeviceToHost ? other.get() : device.get();
  void* from = direction == Direction::kDeviceToHost ? device.get() : other.get();
  if (inside || direction == Direction::kDeviceToHost) {
    check(cudaMemset(from, 0x5A, bytes), "cudaMemset");
  } else {
    std::memset(from, 0x5A, bytes);
  }
  const Stream stream;
  Event start, end;
  std::vector<double> seconds = sample(sampling, [&] {
    start.record(stream.get());
    for (int i = 0; i < copies; ++i) {
      check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()), "cudaMemcpyAsync");
    }
    end.record(stream.get());
    return seconds_between(start, end);
  });
  for (double& s : seconds) s /= copies;
  verify(direction, other.get(), device.get(), bytes);
  return seconds;
}

std::vector<double> gpu_both_ways_seconds(std::size_t bytes, const Sampling& sampling) {
  const Memory up = device_memory(bytes), down = device_memory(bytes);
  const Memory from = host_memory(bytes, HostPages::kPinned);
  const Memory to = host_memory(bytes, HostPages::kPinned);
  std::memset(from.get(), 0x5A, bytes);
  std::memset(to.get(), 0, bytes);
  const Stream first, second;
  Event start, first_end, second_end;
  return sample(sampling, [&] {
    start.record(first.get());
    check(cudaStreamWaitEvent(second.get(), start.get(), 0), "cudaStreamWaitEvent");
    check(cudaMemcpyAsync(up.get(), from.get(), bytes, cudaMemcpyDefault, first.get()),
          "cudaMemcpyAsync");
    check(cudaMemcpyAsync(to.get(), down.get(), bytes, cudaMemcpyDefault, second.get()),
          "cudaMemcpyAsync");
    first_end.record(first.get());
    second_end.record(second.get());
    return std::max(seconds_between(start, first_end), seconds_between(start, second_end));
  });
}

double gpu_work_seconds_once(const std::function<void()>& prepare,
                             const std::function<void()>& work) {
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  Event start, end;
  prepare();
  at::cuda::sleep(kHoldCycles);
  start.record(stream);
  work();
  end.record(stream);
  return seconds_between(start, end);
}

std::vector<double> gpu_work_seconds(const std::function<void()>& queue, const Sampling& sampling) {
  return sample(sampling, [&] { return gpu_work_seconds_once([] {}, queue); });
}

void gpu_synchronize() {
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

GpuAllocated gpu_allocated() {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  return {stats.allocated_bytes[0].current, stats.allocated_bytes[0].peak};
}
void gpu_reset_peak() {
  c10::cuda::CUDACachingAllocator::resetPeakStats(0);
}

}  // namespace elixir::measure
