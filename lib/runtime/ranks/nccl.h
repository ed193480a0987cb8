// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What ranks exchange through NCCL. It takes hundreds of MiB of each GPU, so only ranks that need
// it connect: those whose GPUs cannot reach each other's memory, and plans whose gradients NCCL
// adds up.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/element.h"
#include "runtime/ranks/communicator.h"

struct CUstream_st;

namespace elixir::runtime {

/// Enqueues on CUDA streams, as DeviceCommunicator says. Not thread-safe, except that another
/// thread may abort.
class Nccl {
 public:
  using Stream = CUstream_st*;  ///< cudaStream_t

  virtual ~Nccl() = default;
  /// What is under way ends, with garbage. It may take for ever, and more calls are errors.
  virtual void abort() = 0;
  virtual void all_gather(const plan::RankGroup& group,
                          void* all,
                          const void* own,
                          std::int64_t part_bytes,
                          Stream stream) = 0;
  virtual void all_to_all(void* to, const void* from, std::int64_t part_bytes, Stream stream) = 0;
  virtual void reduce_scatter(void* to,
                              const void* from,
                              std::size_t shard_elements,
                              kernels::Element type,
                              Stream stream) = 0;
  virtual void broadcast(int root, void* data, std::int64_t bytes, Stream stream) = 0;
  virtual void all_reduce(const plan::RankGroup& group,
                          float* to,
                          const float* from,
                          std::size_t count,
                          Stream stream) = 0;
};

/// Connected, with all of NCCL's memory taken. `sums_alone`: only reduce_scatter() will be called;
/// the others would take nearly 400 MiB of a GPU for each other rank. Throws kRankLost,
/// kDeviceFailure, and kMissingFeature in a build without NCCL.
[[nodiscard]] std::unique_ptr<Nccl> connect_nccl(Communicator& host,
                                                 const plan::RankGrid& grid,
                                                 bool sums_alone);

}  // namespace elixir::runtime
