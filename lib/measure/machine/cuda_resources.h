// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// CUDA objects that free themselves, for measurements. Only builds with CUDA have them.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

namespace elixir::measure {

/// Buffer size for the name from cudaDeviceGetPCIBusId().
inline constexpr int kBusIdLength = 32;
/// Byte values of checked copies: that of the source, and that of the destination before the copy.
inline constexpr int kPattern = 0x5A, kOther = 0x3C;

/// Makes a device current, and restores the previous one at the end.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_ = 0;
};

/// Belongs to the device that is current when it is created.
class CudaEvent {
 public:
  explicit CudaEvent(unsigned flags = cudaEventDefault);
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void record(cudaStream_t stream);
  void wait() const;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Waits for `end`. Both events must be on one device.
[[nodiscard]] double seconds_between(const CudaEvent& start, const CudaEvent& end);

/// Belongs to the device that is current when it is created. Waits for no other stream.
class CudaStreamOwner {
 public:
  CudaStreamOwner();
  ~CudaStreamOwner();
  CudaStreamOwner(const CudaStreamOwner&) = delete;
  CudaStreamOwner& operator=(const CudaStreamOwner&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

using CudaMemory = std::unique_ptr<void, void (*)(void*)>;
/// Memory of the current device, filled with `byte`.
[[nodiscard]] CudaMemory device_memory(std::size_t bytes, int byte);
[[nodiscard]] CudaMemory pinned_memory(std::size_t bytes, int byte);
/// Ordinary host memory.
[[nodiscard]] CudaMemory pageable_memory(std::size_t bytes, int byte);

/// Keeps `stream` busy for about a millisecond, so that the work queued next is complete before it
/// starts.
void hold(cudaStream_t stream);

/// The NUMA node of the current device; -1 when the system does not report it.
[[nodiscard]] int numa_node_of_device();

}  // namespace elixir::measure
