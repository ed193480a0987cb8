// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a schedule's streams are on a machine with a GPU: each has a stream of the GPU, but the cpu
// stream; a lane that issues its tasks, but the compute stream, whose tasks the caller issues
// itself; and what its tasks may do to memory.

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <c10/cuda/CUDAStream.h>

#include "runtime/device/device.h"
#include "runtime/device/lane.h"
#include "runtime/device/stream_operations.h"
#include "runtime/ranks/device_communicator.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

class CudaStreams {
 public:
  /// The streams of GPU `gpu`. `ranks` must outlive them; nullptr if there is one rank, and then
  /// there is no stream between ranks. `begin_lane` runs on the thread of each lane before its
  /// first task.
  CudaStreams(c10::DeviceIndex gpu,
              const DeviceOptions& options,
              DeviceCommunicator* ranks,
              void (*begin_lane)());

  [[nodiscard]] const c10::cuda::CUDAStream& compute() const;
  /// nullptr for the cpu stream.
  [[nodiscard]] cudaStream_t gpu_stream(schedule::Stream stream) const;
  [[nodiscard]] StreamOperations& operations(schedule::Stream stream) const;
  /// The operations of the cpu stream. Call it from that stream's lane, or while the lane is idle.
  [[nodiscard]] HostOperations& host_operations() const { return *host_operations_; }
  /// nullptr for the compute stream.
  [[nodiscard]] Lane* lane(schedule::Stream stream) const;
  /// Returns when every lane has done what was pushed so far, and the cpu stream's tasks have
  /// ended.
  void wait_idle();

 private:
  struct Parts {
    std::optional<c10::cuda::CUDAStream> gpu_stream;
    StreamOperations* operations = nullptr;
    Lane* lane = nullptr;
  };
  [[nodiscard]] const Parts& at(schedule::Stream stream) const;

  std::unique_ptr<HostOperations> host_operations_;
  std::vector<std::unique_ptr<StreamOperations>> gpu_operations_;
  std::array<Parts, schedule::kStreamCount> parts_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // last, because their threads use all members above
};

}  // namespace elixir::runtime
