// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/device/cuda/cuda_streams.h"

#include "core/error.h"
#include "kernels/cpu_affinity.h"
#include "runtime/device/cuda/cuda_operations.h"

namespace elixir::runtime {
namespace {

using schedule::Stream;

/// Kernels of streams with smaller numbers run first. Operators fill the GPU. What they wait for
/// from other ranks has short kernels, which must not wait until an operator has ended; nor must
/// gaps between loads (kernels/cuda_kernels.h). Updates come last.
int priority_of(Stream stream) {
  if (is_between_ranks(stream) || stream == Stream::kDeviceUpdate) return -3;
  return stream == Stream::kCompute ? -2 : 0;
}

}  // namespace

CudaStreams::CudaStreams(c10::DeviceIndex gpu,
                         const DeviceOptions& options,
                         DeviceCommunicator* ranks,
                         void (*begin_lane)()) {
  const kernels::CpuRange cpus = kernels::adam_cpus({options.first_cpu, options.cpu_threads});
  host_operations_ = make_host_operations(
      {.threads = cpus.count, .first_cpu = cpus.first, .updates = HostUpdates::kOverlap});
  Lane* between_ranks = nullptr;  // one for both streams, so that all ranks issue in one order
  for (int i = 0; i < schedule::kStreamCount; ++i) {
    const auto stream = static_cast<Stream>(i);
    const bool exchanges = is_between_ranks(stream);
    if (exchanges && ranks == nullptr) continue;
    Parts& parts = parts_[i];
    if (stream == Stream::kCpu) {
      parts.operations = host_operations_.get();
    } else {
      parts.gpu_stream = c10::cuda::getStreamFromPool(priority_of(stream), gpu);
      gpu_operations_.push_back(
          make_cuda_operations(parts.gpu_stream->stream(), exchanges ? ranks : nullptr));
      parts.operations = gpu_operations_.back().get();
    }
    if (stream == Stream::kCompute) continue;
    if (exchanges && between_ranks != nullptr) {
      parts.lane = between_ranks;
      continue;
    }
    parts.lane = lanes_.emplace_back(std::make_unique<Lane>(begin_lane)).get();
    if (exchanges) between_ranks = parts.lane;
  }
}

const CudaStreams::Parts& CudaStreams::at(Stream stream) const {
  const Parts& parts = parts_[static_cast<std::size_t>(stream)];
  require(parts.operations != nullptr, "a collective task, but one rank");
  return parts;
}

const c10::cuda::CUDAStream& CudaStreams::compute() const {
  return *at(Stream::kCompute).gpu_stream;
}

cudaStream_t CudaStreams::gpu_stream(Stream stream) const {
  const Parts& parts = at(stream);
  return parts.gpu_stream ? parts.gpu_stream->stream() : nullptr;
}

StreamOperations& CudaStreams::operations(Stream stream) const {
  return *at(stream).operations;
}

Lane* CudaStreams::lane(Stream stream) const {
  return at(stream).lane;
}

void CudaStreams::wait_idle() {
  for (const std::unique_ptr<Lane>& lane : lanes_) lane->wait_idle();
  host_operations_->wait_idle();
}

}  // namespace elixir::runtime
