// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the GPUs of several ranks exchange. Calls only enqueue on a CUDA stream. Every rank must
// make the same calls in the same order, with the same sizes, from one thread at a time. Exchanges
// by copies on two streams run side by side; NCCL's calls run in the order in which they were made.
//
// A rank that is gone would be waited for on the GPU without end. So a thread watches the others
// while something is under way, and ends it then; check() says so afterwards.
//
// Where the GPUs reach each other's memory, they exchange everything by copies (peer_copies.h), and
// NCCL is connected only if it is to add up; elsewhere all goes through NCCL (nccl.h). Both give
// the same bits.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/element.h"
#include "runtime/ranks/communicator.h"

struct CUstream_st;

namespace elixir::runtime {

class DeviceCommunicator {
 public:
  using Stream = CUstream_st*;  ///< cudaStream_t
  /// Smaller allocations have a block in common with others, and cannot be shared alone.
  static constexpr std::int64_t kLeastSharedBytes = 2 << 20;

  virtual ~DeviceCommunicator() = default;
  /// What one cudaMalloc returned, at least kLeastSharedBytes: copies may exchange what lies in it.
  /// All ranks share memory of the same sizes in the same order, before the first step.
  virtual void share(void* memory, std::int64_t bytes) = 0;
  /// No exchange follows, and none is under way. Lets go of the memory of other ranks, and waits
  /// until these have let go of this one's, unless a rank is lost or fails. Before shared memory is
  /// freed.
  virtual void unshare() = 0;
  /// As Communicator's, with device memory. A group is one of the grid's, and `grid` is the grid.
  virtual void all_gather(const plan::RankGroup& group,
                          void* all,
                          const void* own,
                          std::int64_t part_bytes,
                          Stream stream) = 0;
  virtual void all_to_all(const plan::RankGrid& grid,
                          void* to,
                          const void* from,
                          std::int64_t part_bytes,
                          Stream stream) = 0;
  /// `to` (shard_elements): this rank's shard of the sum of `from` (grid.shards() × shard_elements)
  /// over all ranks, in an order that NCCL chooses. Ranks with the same shard get the same bits.
  virtual void reduce_scatter(const plan::RankGrid& grid,
                              void* to,
                              const void* from,
                              std::size_t shard_elements,
                              kernels::Element type,
                              Stream stream) = 0;
  virtual void broadcast(int root, void* data, std::int64_t bytes, Stream stream) = 0;
  /// As StreamOperations'.
  virtual void gather_disjoint(const plan::RankGroup& group,
                               float* to,
                               const float* from,
                               std::size_t count,
                               Stream stream) = 0;
  /// Throws kRankLost when this or another rank ended something before it was done: results are
  /// garbage then. May wait two seconds for the name of the rank that is lost.
  virtual void check() const = 0;
};

/// Between the current GPUs of all ranks of `host`, which it uses only here, and to ask who is
/// lost. `grid` is of the same ranks. `nccl_adds_up`: reduce_scatter() will be called. Throws
/// kMachineTooSmall when two ranks have the same GPU (but see kShareGpusVariable), kRankLost,
/// kDeviceFailure, and kMissingFeature where NCCL is needed in a build without it.
[[nodiscard]] std::unique_ptr<DeviceCommunicator> make_device_communicator(
    Communicator& host, const plan::RankGrid& grid, bool nccl_adds_up);

/// An environment variable, for tests alone: ranks may have the same GPU. What goes through NCCL
/// then goes through the network, as between ranks of several machines.
inline constexpr const char* kShareGpusVariable = "ELIXIR_SHARE_GPUS";

}  // namespace elixir::runtime
