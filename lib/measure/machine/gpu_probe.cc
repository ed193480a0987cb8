// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/machine/gpu_probe.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/Sleep.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.h"
#include "kernels/cuda_kernels.h"
#include "measure/machine/cuda_resources.h"
#include "replay/cuda_status.h"

namespace elixir::measure {
namespace {

using replay::check_cuda;

/// How long the GPU is kept busy while work is queued: about 0.3 ms at 2 GHz.
constexpr std::int64_t kProbeHoldCycles = 600'000;

/// Checks a copy. The source holds a pattern and the destination another value; afterwards the
/// destination must hold the pattern.
void verify(Direction direction, void* host, void* device, std::size_t bytes) {
  std::vector<unsigned char> got(std::min<std::size_t>(bytes, 65536));
  const void* at = direction == Direction::kDeviceToHost ? host : device;
  check_cuda(cudaMemcpy(got.data(), at, got.size(), cudaMemcpyDefault), "cudaMemcpy");
  for (const unsigned char byte : got) require(byte == kPattern, "a copy arrived damaged");
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

int gpu_count() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return devices;
}

const kernels::PageLock* gpu_page_lock() {
  return &kernels::cuda_page_lock();
}

std::vector<std::string> gpu_bus_ids() {
  std::vector<std::string> ids;
  for (int device = 0; device < gpu_count(); ++device) {
    std::array<char, kBusIdLength> bus{};
    if (cudaDeviceGetPCIBusId(bus.data(), kBusIdLength, device) == cudaSuccess) {
      ids.emplace_back(bus.data());
    }
  }
  return ids;
}

std::int64_t gpu_bytes_outside_allocator(int device) {
  const DeviceScope there(device);
  gpu_synchronize();
  std::size_t free_bytes = 0, total_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  const auto stats =
      c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
  return static_cast<std::int64_t>(total_bytes - free_bytes) - stats.reserved_bytes[0].current;
}

hardware::Gpu describe_gpu(int device) {
  const DeviceScope there(device);
  const auto index = static_cast<c10::DeviceIndex>(device);
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  const auto bf16 = at::TensorOptions().device(at::kCUDA, index).dtype(at::kBFloat16);
  {
    const at::Tensor a = at::empty({256, 256}, bf16).fill_(0.5);
    (void)at::mm(a, a);
  }
  gpu_synchronize();
  std::size_t free_bytes = 0, total_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  return {properties.name,
          properties.major * 10 + properties.minor,
          static_cast<std::int64_t>(total_bytes),
          gpu_bytes_outside_allocator(device)};
}

std::vector<double> gpu_copy_seconds(
    Direction direction, HostPages pages, std::size_t bytes, int copies, const Sampling& sampling) {
  const CudaMemory device = device_memory(bytes, kOther);
  const bool inside = direction == Direction::kDeviceToDevice;
  const CudaMemory other = inside                        ? device_memory(bytes, kOther)
                           : pages == HostPages::kPinned ? pinned_memory(bytes, kOther)
                                                         : pageable_memory(bytes, kOther);
  void* to = direction == Direction::kDeviceToHost ? other.get() : device.get();
  void* from = direction == Direction::kDeviceToHost ? device.get() : other.get();
  if (inside || direction == Direction::kDeviceToHost) {
    check_cuda(cudaMemset(from, kPattern, bytes), "cudaMemset");
  } else {
    std::memset(from, kPattern, bytes);
  }
  gpu_synchronize();
  const CudaStreamOwner stream;
  CudaEvent start, end;
  std::vector<double> seconds = sample(sampling, [&] {
    start.record(stream.get());
    for (int i = 0; i < copies; ++i) {
      check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()),
                 "cudaMemcpyAsync");
    }
    end.record(stream.get());
    return seconds_between(start, end);
  });
  for (double& s : seconds) s /= copies;
  verify(direction, other.get(), device.get(), bytes);
  return seconds;
}

std::vector<double> gpu_both_ways_seconds(std::size_t bytes, const Sampling& sampling) {
  const CudaMemory up = device_memory(bytes, kOther), down = device_memory(bytes, kPattern);
  const CudaMemory from = pinned_memory(bytes, kPattern), to = pinned_memory(bytes, kOther);
  gpu_synchronize();
  const CudaStreamOwner first, second;
  CudaEvent start, first_end, second_end;
  return sample(sampling, [&] {
    start.record(first.get());
    check_cuda(cudaStreamWaitEvent(second.get(), start.get(), 0), "cudaStreamWaitEvent");
    check_cuda(cudaMemcpyAsync(up.get(), from.get(), bytes, cudaMemcpyDefault, first.get()),
               "cudaMemcpyAsync");
    check_cuda(cudaMemcpyAsync(to.get(), down.get(), bytes, cudaMemcpyDefault, second.get()),
               "cudaMemcpyAsync");
    first_end.record(first.get());
    second_end.record(second.get());
    return std::max(seconds_between(start, first_end), seconds_between(start, second_end));
  });
}

double gpu_work_seconds_once(const std::function<void()>& prepare,
                             const std::function<void()>& work) {
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  CudaEvent start, end;
  prepare();
  at::cuda::sleep(kProbeHoldCycles);
  start.record(stream);
  work();
  end.record(stream);
  return seconds_between(start, end);
}

std::vector<double> gpu_work_seconds(const std::function<void()>& queue, const Sampling& sampling) {
  return sample(sampling, [&] { return gpu_work_seconds_once([] {}, queue); });
}

std::int64_t gpu_cache_bytes() {
  return at::cuda::getCurrentDeviceProperties()->l2CacheSize;
}

void gpu_synchronize() {
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

GpuAllocated gpu_allocated() {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  return {stats.allocated_bytes[0].current, stats.allocated_bytes[0].peak};
}
void gpu_reset_peak() {
  c10::cuda::CUDACachingAllocator::resetPeakStats(0);
}

}  // namespace elixir::measure
