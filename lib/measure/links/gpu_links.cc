// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/links/gpu_links.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/error.h"
#include "kernels/cuda_kernels.h"
#include "kernels/host_arena.h"
#include "measure/machine/cuda_resources.h"
#include "measure/machine/topology.h"
#include "replay/cuda_status.h"

namespace elixir::measure {
namespace {

using replay::check_cuda;

constexpr std::size_t kCheckedBytes = 65536;

/// Checks the first and last bytes that arrived.
void verify(const void* arrived, std::size_t bytes) {
  std::vector<unsigned char> got(std::min(bytes, kCheckedBytes));
  const std::size_t last = bytes - got.size();
  for (const std::size_t at : {std::size_t{0}, last}) {
    check_cuda(
        cudaMemcpy(
            got.data(), static_cast<const char*>(arrived) + at, got.size(), cudaMemcpyDefault),
        "cudaMemcpy");
    for (const unsigned char byte : got) require(byte == kPattern, "a copy arrived damaged");
  }
}

void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
}

CudaMemory no_memory() {
  return {nullptr, [](void*) {}};
}

/// One direction of one GPU.
class Lane {
 public:
  Lane(int device, bool up, std::size_t bytes) : device_(device), up_(up), bytes_(bytes) {
    const DeviceScope here(device);
    const NodeScope node(numa_node_of_device());
    host_ = pinned_memory(bytes, up ? kPattern : kOther);
    gpu_ = device_memory(bytes, up ? kOther : kPattern);
    stream_ = std::make_unique<CudaStreamOwner>();
    end_ = std::make_unique<CudaEvent>(cudaEventDisableTiming);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void queue(int copies, const CudaEvent& start) {
    const DeviceScope here(device_);
    check_cuda(cudaStreamWaitEvent(stream_->get(), start.get(), 0), "cudaStreamWaitEvent");
    for (int i = 0; i < copies; ++i) {
      copy(up_ ? gpu_.get() : host_.get(), up_ ? host_.get() : gpu_.get(), bytes_, stream_->get());
    }
    end_->record(stream_->get());
  }
  [[nodiscard]] const CudaEvent& end() const { return *end_; }
  void check() const { verify(up_ ? gpu_.get() : host_.get(), bytes_); }

 private:
  int device_;
  bool up_;
  std::size_t bytes_;
  CudaMemory host_ = no_memory(), gpu_ = no_memory();
  std::unique_ptr<CudaStreamOwner> stream_;
  std::unique_ptr<CudaEvent> end_;
};

}  // namespace

std::vector<double> gpu_group_copy_seconds(
    Traffic traffic, int gpus, std::size_t bytes, int copies, const Sampling& sampling) {
  const DeviceScope first(0);
  const CudaStreamOwner stream;
  CudaEvent start, end;
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int device = 0; device < gpus; ++device) {
    if (traffic != Traffic::kDown) lanes.push_back(std::make_unique<Lane>(device, true, bytes));
    if (traffic != Traffic::kUp) lanes.push_back(std::make_unique<Lane>(device, false, bytes));
  }
  std::vector<double> seconds = sample(sampling, [&] {
    hold(stream.get());
    start.record(stream.get());
    for (const auto& lane : lanes) lane->queue(copies, start);
    for (const auto& lane : lanes) {
      check_cuda(cudaStreamWaitEvent(stream.get(), lane->end().get(), 0), "cudaStreamWaitEvent");
    }
    end.record(stream.get());
    return seconds_between(start, end);
  });
  for (const auto& lane : lanes) lane->check();
  return seconds;
}

std::vector<std::vector<double>> gpu_copy_seconds_by_size(Direction direction,
                                                          HostPages pages,
                                                          const std::vector<std::int64_t>& sizes,
                                                          const Sampling& sampling) {
  const auto most = static_cast<std::size_t>(sizes.back());
  const bool down = direction == Direction::kDeviceToHost;
  const bool inside = direction == Direction::kDeviceToDevice;
  const NodeScope node(numa_node_of_device());
  const CudaMemory gpu = device_memory(most, down || inside ? kPattern : kOther);
  const CudaMemory other = inside ? device_memory(most, kOther)
                           : pages == HostPages::kPinned
                               ? pinned_memory(most, down ? kOther : kPattern)
                               : pageable_memory(most, down ? kOther : kPattern);
  void* const to = down || inside ? other.get() : gpu.get();
  const void* const from = down || inside ? gpu.get() : other.get();
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const CudaStreamOwner stream;
  CudaEvent start, end;
  std::vector<std::vector<double>> found;
  found.reserve(sizes.size());
  for (const std::int64_t bytes : sizes) {
    found.push_back(sample(sampling, [&] {
      // A pageable copy blocks the host until it is staged, so nothing may be queued before it.
      if (inside || pages == HostPages::kPinned) hold(stream.get());
      start.record(stream.get());
      copy(to, from, static_cast<std::size_t>(bytes), stream.get());
      end.record(stream.get());
      return seconds_between(start, end);
    }));
  }
  verify(to, most);
  return found;
}

bool gpu_peer_access(int from, int to) {
  int possible = 0;
  check_cuda(cudaDeviceCanAccessPeer(&possible, from, to), "cudaDeviceCanAccessPeer");
  return possible != 0;
}

void enable_gpu_peer_access(int at, int other) {
  if (!gpu_peer_access(at, other)) return;
  const DeviceScope here(at);
  const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
  (void)cudaGetLastError();
  if (error != cudaErrorPeerAccessAlreadyEnabled) check_cuda(error, "cudaDeviceEnablePeerAccess");
}

std::vector<double> gpu_peer_copy_seconds(
    int from, int to, std::size_t bytes, int copies, const Sampling& sampling) {
  enable_gpu_peer_access(from, to);
  enable_gpu_peer_access(to, from);
  CudaMemory target = no_memory();
  {
    const DeviceScope there(to);
    target = device_memory(bytes, kOther);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  const DeviceScope here(from);
  const CudaMemory source = device_memory(bytes, kPattern);
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const CudaStreamOwner stream;
  CudaEvent start, end;
  std::vector<double> seconds = sample(sampling, [&] {
    hold(stream.get());
    start.record(stream.get());
    for (int i = 0; i < copies; ++i) {
      check_cuda(cudaMemcpyPeerAsync(target.get(), to, source.get(), from, bytes, stream.get()),
                 "cudaMemcpyPeerAsync");
    }
    end.record(stream.get());
    return seconds_between(start, end) / copies;
  });
  verify(target.get(), bytes);
  return seconds;
}

double plain_pinned_seconds(std::size_t bytes) {
  void* memory = nullptr;
  const double seconds = seconds_of(
      [&] { check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc"); });
  check_cuda(cudaFreeHost(memory), "cudaFreeHost");
  return seconds;
}

double arena_pinned_seconds(std::size_t bytes, kernels::ThreadPool& pool) {
  const kernels::PageLock& lock = kernels::cuda_page_lock();
  std::optional<kernels::HostArena> arena;
  const double seconds = seconds_of([&] { arena.emplace(bytes, &pool, &lock); });
  if (!arena->locked()) throw Error(ErrorCode::kMissingFeature, arena->warning());
  return seconds;
}

}  // namespace elixir::measure
