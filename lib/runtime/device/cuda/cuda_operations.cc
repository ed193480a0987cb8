// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/device/cuda/cuda_operations.h"

#include <cuda_runtime_api.h>

#include "core/error.h"
#include "kernels/cuda_kernels.h"
#include "replay/cuda_status.h"

namespace elixir::runtime {
namespace {

using replay::check_cuda;

class CudaOperations final : public StreamOperations {
 public:
  CudaOperations(cudaStream_t stream, DeviceCommunicator* ranks) : stream_(stream), ranks_(ranks) {}
  void copy(void* to, const void* from, std::int64_t bytes) override {
    check_cuda(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_),
        "copying");
  }
  void poison(void* memory, std::int64_t bytes) override {
    kernels::poison_cuda(memory, static_cast<std::size_t>(bytes), stream_);
  }
  void adam(const kernels::AdamArrays& arrays,
            const kernels::AdamScalars& scalars,
            const kernels::Clip* clip,
            std::uint32_t* report) override {
    require(arrays.earlier.values == nullptr, "the GPU makes moments of one step at a time");
    kernels::adam_cuda(arrays, scalars, stream_, {.skip = nullptr, .report = report}, clip);
  }
  void sum_squares(const void* gradient,
                   kernels::Element type,
                   std::size_t n,
                   const kernels::BlockSums& sums) override {
    kernels::sum_squares_cuda(gradient, type, n, sums.divisor, sums.sums, stream_);
  }
  void sum_squares_of_parts(const void* gradients,
                            kernels::Element type,
                            const std::vector<kernels::SummedPart>& parts) override {
    kernels::sum_squares_of_parts_cuda(gradients, type, parts, stream_);
  }
  void copy_and_sum_squares(void* to,
                            const void* from,
                            kernels::Element type,
                            std::size_t n,
                            const kernels::BlockSums& sums) override {
    kernels::copy_and_sum_squares_cuda(to, from, type, n, sums, stream_);
  }
  void accumulate(float* sum,
                  const void* gradient,
                  kernels::Element type,
                  std::size_t n,
                  kernels::Accumulate how,
                  const kernels::BlockSums& sums) override {
    kernels::accumulate_cuda(sum, gradient, type, n, how, stream_, sums);
  }
  void clip(float* sums, std::size_t count, double max_norm, kernels::Clip* clip) override {
    kernels::clip_cuda(sums, count, max_norm, clip, stream_);
  }

  void all_gather(const plan::RankGroup& group,
                  void* all,
                  const void* own,
                  std::int64_t part_bytes) override {
    ranks().all_gather(group, all, own, part_bytes, stream_);
  }
  void all_to_all(const plan::RankGrid& grid,
                  void* to,
                  const void* from,
                  std::int64_t part_bytes) override {
    ranks().all_to_all(grid, to, from, part_bytes, stream_);
  }
  void reduce_scatter(const plan::RankGrid& grid,
                      void* to,
                      const void* from,
                      std::size_t shard_elements,
                      kernels::Element type) override {
    ranks().reduce_scatter(grid, to, from, shard_elements, type, stream_);
  }
  void broadcast(int root, void* data, std::int64_t bytes) override {
    ranks().broadcast(root, data, bytes, stream_);
  }
  void gather_disjoint(const plan::RankGroup& group,
                       float* to,
                       const float* from,
                       std::size_t count) override {
    ranks().gather_disjoint(group, to, from, count, stream_);
  }
  void sum_parts(const SumParts& sum, const std::vector<kernels::SummedPart>& squares) override {
    kernels::sum_parts_cuda(
        sum.to, sum.to_type, sum.from, sum.type, sum.parts, sum.n, sum.how, stream_, squares);
  }

 private:
  [[nodiscard]] DeviceCommunicator& ranks() const {
    require(ranks_ != nullptr, "a collective task, but one rank");
    return *ranks_;
  }

  cudaStream_t stream_;
  DeviceCommunicator* ranks_;
};

}  // namespace

std::unique_ptr<StreamOperations> make_cuda_operations(DeviceCommunicator::Stream stream,
                                                       DeviceCommunicator* ranks) {
  return std::make_unique<CudaOperations>(stream, ranks);
}

}  // namespace elixir::runtime
