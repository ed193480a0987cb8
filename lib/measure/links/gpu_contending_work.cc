// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "measure/links/contending_work.h"
#include "measure/machine/cuda_resources.h"
#include "measure/machine/topology.h"
#include "replay/cuda_status.h"

namespace elixir::measure {
namespace {

using replay::check_cuda;

constexpr int kCopiesPerUnit = 4;
constexpr int kProductsPerUnit = 4;

/// Pinned memory on the NUMA node of the GPU.
CudaMemory near_pinned_memory(std::size_t bytes) {
  const NodeScope node(numa_node_of_device());
  return pinned_memory(bytes, 0x5A);
}

/// Queues a unit, then waits for the previous one. The wait does not use a core, because the other
/// work may need it.
class GpuWork : public ContendingWork {
 public:
  void run_unit() override {
    const DeviceScope first(0);
    queue(stream_.get());
    CudaEvent& mine = done_[turn_];
    mine.record(stream_.get());
    turn_ = 1 - turn_;
    if (queued_) done_[turn_].wait();
    queued_ = true;
  }
  void finish() override {
    check_cuda(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    queued_ = false;
  }

 protected:
  virtual void queue(cudaStream_t stream) = 0;

 private:
  CudaStreamOwner stream_;
  CudaEvent done_[2] = {CudaEvent(cudaEventBlockingSync | cudaEventDisableTiming),
                        CudaEvent(cudaEventBlockingSync | cudaEventDisableTiming)};
  int turn_ = 0;
  bool queued_ = false;
};

class LinkWork : public GpuWork {
 public:
  LinkWork(hardware::Direction direction, std::size_t bytes, std::size_t host_bytes)
      : direction_(direction),
        bytes_(bytes),
        places_(std::max<std::size_t>(1, host_bytes / bytes)),
        host_(near_pinned_memory(bytes * places_)),
        gpu_(device_memory(bytes, 0x5A)) {}
  [[nodiscard]] std::string name() const override { return std::string(name_of(direction_)); }

 protected:
  void queue(cudaStream_t stream) override {
    const bool up = direction_ == hardware::Direction::kHostToDevice;
    for (int i = 0; i < kCopiesPerUnit; ++i) {
      char* const host = static_cast<char*>(host_.get()) + place_ * bytes_;
      place_ = (place_ + 1) % places_;
      check_cuda(
          cudaMemcpyAsync(
              up ? gpu_.get() : host, up ? host : gpu_.get(), bytes_, cudaMemcpyDefault, stream),
          "cudaMemcpyAsync");
    }
  }

 private:
  hardware::Direction direction_;
  std::size_t bytes_, places_, place_ = 0;
  CudaMemory host_, gpu_;
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
                                               std::size_t host_bytes) {
  return std::make_unique<LinkWork>(direction, bytes, host_bytes);
}

std::unique_ptr<ContendingWork> make_matmul_work(int side) {
  return std::make_unique<MatmulWork>(side);
}

}  // namespace elixir::measure
