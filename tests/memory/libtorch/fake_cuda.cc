// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/libtorch/fake_cuda.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <memory>
#include <string_view>

namespace elixir::tests::fake_cuda {
namespace {

struct Event {
  std::uint64_t stream = 0;
  std::uint64_t ticket = 0;
};

struct Device {
  explicit Device(std::int64_t capacity, std::uint64_t seed) : heap(capacity, seed) {}
  AddressHeap heap;
  std::map<std::uint64_t, std::int64_t> page_bytes;  ///< of mapped pages, by address
  std::map<std::uint64_t, std::uint64_t> recorded;   ///< events by stream
  std::map<std::uint64_t, std::uint64_t> completed;
};

Device& device() {
  static std::unique_ptr<Device> instance;
  if (instance == nullptr) instance = std::make_unique<Device>(kTotalBytes, 0);
  return *instance;
}

std::uint64_t number_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// The driver calls behind expandable segments. The handle of physical memory is its size.
CUresult mem_address_reserve(
    CUdeviceptr* pointer, size_t bytes, size_t, CUdeviceptr, unsigned long long) {
  *pointer = device().heap.reserve(static_cast<std::int64_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult mem_address_free(CUdeviceptr pointer, size_t) {
  device().heap.release(pointer);
  return CUDA_SUCCESS;
}
CUresult mem_create(CUmemGenericAllocationHandle* handle,
                    size_t bytes,
                    const CUmemAllocationProp*,
                    unsigned long long) {
  if (!device().heap.take(static_cast<std::int64_t>(bytes))) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = bytes;
  return CUDA_SUCCESS;
}
CUresult mem_release(CUmemGenericAllocationHandle handle) {
  device().heap.give(static_cast<std::int64_t>(handle));
  return CUDA_SUCCESS;
}
CUresult mem_map(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long) {
  return CUDA_SUCCESS;
}
CUresult mem_unmap(CUdeviceptr, size_t) {
  return CUDA_SUCCESS;
}
CUresult mem_set_access(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) {
  return CUDA_SUCCESS;
}
CUresult device_get_attribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 0;
  return CUDA_SUCCESS;
}
CUresult get_error_string(CUresult, const char** text) {
  *text = "fake driver error";
  return CUDA_SUCCESS;
}
CUresult not_faked() {
  return CUDA_ERROR_NOT_SUPPORTED;
}

template <class Function>
void* pointer_to(Function* function) {
  return reinterpret_cast<void*>(function);
}

void* driver_function(std::string_view name) {
  if (name == "cuMemAddressReserve") return pointer_to(mem_address_reserve);
  if (name == "cuMemAddressFree") return pointer_to(mem_address_free);
  if (name == "cuMemCreate") return pointer_to(mem_create);
  if (name == "cuMemRelease") return pointer_to(mem_release);
  if (name == "cuMemMap") return pointer_to(mem_map);
  if (name == "cuMemUnmap") return pointer_to(mem_unmap);
  if (name == "cuMemSetAccess") return pointer_to(mem_set_access);
  if (name == "cuDeviceGetAttribute") return pointer_to(device_get_attribute);
  if (name == "cuGetErrorString") return pointer_to(get_error_string);
  return pointer_to(not_faked);
}

}  // namespace

void reset(std::int64_t capacity_bytes, std::uint64_t seed) {
  device() = Device(capacity_bytes, seed);
}

void complete(std::uint64_t stream) {
  device().completed[stream] = device().recorded[stream];
}

}  // namespace elixir::tests::fake_cuda

using elixir::tests::fake_cuda::device;
using elixir::tests::fake_cuda::driver_function;
using elixir::tests::fake_cuda::Event;
using elixir::tests::fake_cuda::kTotalBytes;
using elixir::tests::fake_cuda::number_of;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* id) {
  *id = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof(*properties));
  properties->totalGlobalMem = static_cast<size_t>(kTotalBytes);
  properties->major = 9;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = static_cast<size_t>(device().heap.free_bytes());
  *total = static_cast<size_t>(kTotalBytes);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  const auto address = device().heap.allocate(static_cast<std::int64_t>(bytes));
  if (!address) return cudaErrorMemoryAllocation;
  *pointer = reinterpret_cast<void*>(*address);
  return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
  device().heap.give(device().heap.bytes_at(number_of(pointer)));
  device().heap.release(number_of(pointer));
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<Event*>(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  auto* mine = reinterpret_cast<Event*>(event);
  mine->stream = number_of(stream);
  mine->ticket = ++device().recorded[mine->stream];
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const auto* mine = reinterpret_cast<const Event*>(event);
  return mine->ticket <= device().completed[mine->stream] ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name,
                                             void** function,
                                             unsigned int,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  *function = driver_function(name);
  if (found != nullptr) *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

/// For an out-of-memory message, LibTorch loads the driver's management library, if there is one,
/// and asks it for the GPU's processes. That library does not know our fake GPU, so here it never
/// exists.
void* dlopen(const char* file, int flags) noexcept {
  if (file != nullptr && std::string_view(file).find("libnvidia-ml") != std::string_view::npos) {
    return nullptr;
  }
  static const auto real =
      reinterpret_cast<void* (*)(const char*, int)>(::dlsym(RTLD_NEXT, "dlopen"));
  return real(file, flags);
}

}  // extern "C"
