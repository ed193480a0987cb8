// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "kernels/cuda_kernels.h"
#include "kernels/gradient.h"
#include "kernels/host_arena.h"
#include "measure/links/contending_work.h"
#include "measure/links/gpu_links.h"
#include "measure/machine/cuda_resources.h"
#include "measure/machine/topology.h"
#include "replay/cuda_status.h"

namespace elixir::measure {
namespace {

using replay::check_cuda;

constexpr int kCopiesPerUnit = 4;
constexpr int kProductsPerUnit = 4;
constexpr int kPeerCopiesPerUnit = 8;

/// Pinned memory on the NUMA node of the GPU.
CudaMemory near_pinned_memory(int gpu, std::size_t bytes) {
  const DeviceScope here(gpu);
  const NodeScope node(numa_node_of_device());
  return pinned_memory(bytes, kPattern);
}

/// Keeps kUnitsAhead units queued. The wait does not use a core, because the other work may need
/// it.
class GpuWork : public ContendingWork {
 public:
  explicit GpuWork(int gpu = 0) : gpu_(gpu) {
    const DeviceScope here(gpu);
    lane_ = std::make_unique<Lane>();
  }
  void run_unit() override {
    const DeviceScope here(gpu_);
    queue(lane_->stream.get());
    lane_->done[next_].record(lane_->stream.get());
    next_ = (next_ + 1) % kEvents;
    if (++queued_ > kUnitsAhead) {
      lane_->done[next_].wait();
      --queued_;
    }
  }
  void finish() override {
    if (queued_ > 0) lane_->done[(next_ + kEvents - 1) % kEvents].wait();
    queued_ = 0;
  }

 protected:
  /// Its GPU is current.
  virtual void queue(cudaStream_t stream) = 0;

 private:
  // More than one, because the thread that is to queue the next may have to wait for a core.
  static constexpr int kUnitsAhead = 2, kEvents = kUnitsAhead + 1;
  struct Lane {
    static constexpr unsigned kFlags = cudaEventBlockingSync | cudaEventDisableTiming;
    CudaStreamOwner stream;
    CudaEvent done[kEvents] = {CudaEvent(kFlags), CudaEvent(kFlags), CudaEvent(kFlags)};
  };
  int gpu_;
  std::unique_ptr<Lane> lane_;
  int next_ = 0;    // once all events are recorded: the oldest
  int queued_ = 0;  // units
};

CudaMemory memory_of(int gpu, std::size_t bytes, int byte) {
  const DeviceScope there(gpu);
  return device_memory(bytes, byte);
}

/// Where copies begin or end on the host, in turn, because copies within a cache do not reach
/// memory.
class HostPlaces {
 public:
  HostPlaces(std::size_t bytes, std::size_t in_stripe, SpreadMemory& memory, int gpu) {
    // Spread memory is that of all nodes. A training's ranks take that of their GPU's node.
    if (kernels::allowed_memory_nodes().size() <= 1 && memory.locked()) {
      pieces_.emplace(memory.take(SpreadMemory::kStripes, in_stripe * bytes));
      for (std::size_t place = 0; place < in_stripe; ++place) {
        for (std::size_t i = 0; i < pieces_->count(); ++i) {
          places_.push_back((*pieces_)[i] + place * bytes);
        }
      }
    } else {
      near_ = near_pinned_memory(gpu, bytes * SpreadMemory::kStripes);
      for (std::size_t i = 0; i < SpreadMemory::kStripes; ++i) {
        places_.push_back(static_cast<char*>(near_.get()) + i * bytes);
      }
    }
  }
  [[nodiscard]] char* next() {
    char* const place = places_[next_];
    next_ = (next_ + 1) % places_.size();
    return place;
  }

 private:
  std::optional<SpreadMemory::Pieces> pieces_;
  CudaMemory near_{nullptr, [](void*) {}};
  std::vector<char*> places_;
  std::size_t next_ = 0;
};

class LinkWork : public GpuWork {
 public:
  LinkWork(hardware::Direction direction,
           std::size_t bytes,
           std::size_t in_stripe,
           SpreadMemory& memory,
           int gpu)
      : GpuWork(gpu),
        direction_(direction),
        bytes_(bytes),
        host_(bytes, in_stripe, memory, gpu),
        memory_(memory_of(gpu, bytes, kPattern)) {}
  [[nodiscard]] std::string name() const override { return std::string(name_of(direction_)); }

 protected:
  void queue(cudaStream_t stream) override {
    const bool up = direction_ == hardware::Direction::kHostToDevice;
    for (int i = 0; i < kCopiesPerUnit; ++i) {
      void* const host = host_.next();
      void* const gpu = memory_.get();
      check_cuda(
          cudaMemcpyAsync(up ? gpu : host, up ? host : gpu, bytes_, cudaMemcpyDefault, stream),
          "cudaMemcpyAsync");
    }
  }

 private:
  hardware::Direction direction_;
  std::size_t bytes_;
  HostPlaces host_;
  CudaMemory memory_;
};

class PeerCopyWork : public GpuWork {
 public:
  PeerCopyWork(std::size_t bytes, int from, int to)
      : GpuWork(from),
        bytes_(bytes),
        from_(from),
        to_(to),
        source_(memory_of(from, bytes, kPattern)),
        target_(memory_of(to, bytes, kOther)) {
    enable_gpu_peer_access(from, to);
  }
  [[nodiscard]] std::string name() const override { return "peer_copy"; }

 protected:
  void queue(cudaStream_t stream) override {
    for (int i = 0; i < kPeerCopiesPerUnit; ++i) {
      check_cuda(cudaMemcpyPeerAsync(target_.get(), to_, source_.get(), from_, bytes_, stream),
                 "cudaMemcpyPeerAsync");
    }
  }

 private:
  std::size_t bytes_;
  int from_, to_;
  CudaMemory source_, target_;
};

class RankSumWork : public GpuWork {
 public:
  explicit RankSumWork(std::size_t elements)
      : n_(elements),
        parts_(memory_of(0, kParts * n_ * kPartBytes, 0)),
        sum_(memory_of(0, n_ * sizeof(float), 0)),
        squares_(memory_of(0, kernels::norm_blocks(n_) * sizeof(float), 0)) {}
  [[nodiscard]] std::string name() const override { return "rank_sum"; }

 protected:
  void queue(cudaStream_t stream) override {
    auto* const sum = static_cast<float*>(sum_.get());
    auto* const squares = static_cast<float*>(squares_.get());
    constexpr auto kFirst = kernels::Accumulate::kFirst;
    constexpr auto kNarrow = kernels::Element::kBFloat16, kWide = kernels::Element::kFloat32;
    for (int i = 0; i < kSumsPerUnit; ++i) {
      kernels::sum_parts_cuda(sum, kWide, parts_.get(), kNarrow, kParts, n_, kFirst, stream);
      kernels::sum_squares_cuda(sum, kWide, n_, 1, squares, stream);
    }
  }

 private:
  static constexpr std::size_t kParts = 2, kPartBytes = 2;
  static constexpr int kSumsPerUnit = 2;
  std::size_t n_;
  CudaMemory parts_, sum_, squares_;
};

class MatmulWork : public GpuWork {
 public:
  explicit MatmulWork(int side) {
    const auto options = at::TensorOptions().device(at::kCUDA).dtype(at::kBFloat16);
    a_ = at::empty({side, side}, options).normal_();
    b_ = at::empty({side, side}, options).normal_();
    c_ = at::empty({side, side}, options);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~MatmulWork() override { (void)cudaDeviceSynchronize(); }
  MatmulWork(const MatmulWork&) = delete;
  MatmulWork& operator=(const MatmulWork&) = delete;
  [[nodiscard]] std::string name() const override { return "matmul"; }

 protected:
  void queue(cudaStream_t stream) override {
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromExternal(stream, 0));
    for (int i = 0; i < kProductsPerUnit; ++i) at::mm_out(c_, a_, b_);
  }

 private:
  at::Tensor a_, b_, c_;
};

}  // namespace

std::unique_ptr<ContendingWork> make_link_work(hardware::Direction direction,
                                               std::size_t bytes,
                                               std::size_t in_stripe,
                                               SpreadMemory& memory,
                                               int gpu) {
  return std::make_unique<LinkWork>(direction, bytes, in_stripe, memory, gpu);
}

std::unique_ptr<ContendingWork> make_peer_copy_work(std::size_t bytes, int from, int to) {
  return std::make_unique<PeerCopyWork>(bytes, from, to);
}

std::unique_ptr<ContendingWork> make_rank_sum_work(std::size_t elements) {
  return std::make_unique<RankSumWork>(elements);
}

std::unique_ptr<ContendingWork> make_matmul_work(int side) {
  return std::make_unique<MatmulWork>(side);
}

}  // namespace elixir::measure
