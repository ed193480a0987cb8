// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/machine/cuda_resources.h"

#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <fstream>
#include <new>
#include <string>

#include <fmt/format.h>

#include "replay/cuda_status.h"

namespace elixir::measure {
namespace {

using replay::check_cuda;

/// About a millisecond at 2 GHz.
constexpr std::int64_t kHoldCycles = 2'000'000;

}  // namespace

DeviceScope::DeviceScope(int device) {
  check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
}
DeviceScope::~DeviceScope() {
  (void)cudaSetDevice(before_);
}

CudaEvent::CudaEvent(unsigned flags) {
  check_cuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreate");
}
CudaEvent::~CudaEvent() {
  (void)cudaEventDestroy(event_);
}
void CudaEvent::record(cudaStream_t stream) {
  check_cuda(cudaEventRecord(event_, stream), "cudaEventRecord");
}
void CudaEvent::wait() const {
  check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize");
}

double seconds_between(const CudaEvent& start, const CudaEvent& end) {
  end.wait();
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, start.get(), end.get()), "cudaEventElapsedTime");
  return static_cast<double>(ms) * 1e-3;
}

CudaStreamOwner::CudaStreamOwner() {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
}
CudaStreamOwner::~CudaStreamOwner() {
  (void)cudaStreamDestroy(stream_);
}

CudaMemory device_memory(std::size_t bytes, int byte) {
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
  CudaMemory owned(memory, [](void* p) { (void)cudaFree(p); });
  check_cuda(cudaMemset(memory, byte, bytes), "cudaMemset");
  return owned;
}
CudaMemory pinned_memory(std::size_t bytes, int byte) {
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
  CudaMemory owned(memory, [](void* p) { (void)cudaFreeHost(p); });
  std::memset(memory, byte, bytes);
  return owned;
}
CudaMemory pageable_memory(std::size_t bytes, int byte) {
  CudaMemory owned(::operator new(bytes), [](void* p) { ::operator delete(p); });
  std::memset(owned.get(), byte, bytes);
  return owned;
}

void hold(cudaStream_t stream) {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  const c10::cuda::CUDAStreamGuard guard(
      c10::cuda::getStreamFromExternal(stream, static_cast<c10::DeviceIndex>(device)));
  at::cuda::sleep(kHoldCycles);
}

int numa_node_of_device() {
  int device = 0;
  std::array<char, kBusIdLength> bus{};
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetPCIBusId(bus.data(), kBusIdLength, device) != cudaSuccess) {
    return -1;
  }
  std::string name(bus.data());
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  std::ifstream file(fmt::format("/sys/bus/pci/devices/{}/numa_node", name));
  int node = -1;
  if (!(file >> node)) return -1;
  return node;
}

}  // namespace elixir::measure
