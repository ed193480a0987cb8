// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The operations of tasks on memory. They run on the host's threads or on a CUDA stream, as the
// task's stream requires. On a CUDA stream every call only enqueues; the caller must order streams
// through the schedule's dependencies.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/error.h"
#include "kernels/adam.h"
#include "kernels/gradient.h"
#include "runtime/ranks/communicator.h"

namespace elixir::runtime {

/// Arrays of `n` elements from `parts` ranks, side by side, that are added up.
struct SumParts {
  void* to;
  kernels::Element to_type;
  const void* from;
  kernels::Element type;
  std::size_t parts, n;
  kernels::Accumulate how;
};

class StreamOperations {
 public:
  virtual ~StreamOperations() = default;
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Fills memory with 0xFF bytes, which are NaN in every floating dtype.
  virtual void poison(void* memory, std::int64_t bytes) = 0;
  /// `report` must be host memory from Device::allocate. It is set to 1 when a value is not finite
  /// (kernels::FoundInfinity). `clip`, if given, is read when the pass runs.
  virtual void adam(const kernels::AdamArrays& arrays,
                    const kernels::AdamScalars& scalars,
                    const kernels::Clip* clip,
                    std::uint32_t* report) = 0;
  /// Here and below, `sums` have room for kernels::norm_blocks(n) floats.
  virtual void sum_squares(const void* gradient,
                           kernels::Element type,
                           std::size_t n,
                           const kernels::BlockSums& sums) = 0;
  virtual void sum_squares_of_parts(const void* gradients,
                                    kernels::Element type,
                                    const std::vector<kernels::SummedPart>& parts) = 0;
  virtual void copy_and_sum_squares(void* to,
                                    const void* from,
                                    kernels::Element type,
                                    std::size_t n,
                                    const kernels::BlockSums& sums) = 0;
  /// Makes sums of squares only where `sums` has memory.
  virtual void accumulate(float* sum,
                          const void* gradient,
                          kernels::Element type,
                          std::size_t n,
                          kernels::Accumulate how,
                          const kernels::BlockSums& sums) = 0;
  /// Overwrites `sums`.
  virtual void clip(float* sums, std::size_t count, double max_norm, kernels::Clip* clip) = 0;

  // With several ranks (ranks/communicator.h), on the streams between ranks alone.
  virtual void all_gather(const plan::RankGroup& /*group*/,
                          void* /*all*/,
                          const void* /*own*/,
                          std::int64_t /*part_bytes*/) {
    no_ranks();
  }
  virtual void all_to_all(const plan::RankGrid& /*grid*/,
                          void* /*to*/,
                          const void* /*from*/,
                          std::int64_t /*part_bytes*/) {
    no_ranks();
  }
  /// As DeviceCommunicator's. On CPUs in rank order, in fp32, and rounded once to `type`, with
  /// memory of its own for what comes in, which no plan counts, as NCCL has.
  virtual void reduce_scatter(const plan::RankGrid& /*grid*/,
                              void* /*to*/,
                              const void* /*from*/,
                              std::size_t /*shard_elements*/,
                              kernels::Element /*type*/) {
    no_ranks();
  }
  virtual void broadcast(int /*root*/, void* /*data*/, std::int64_t /*bytes*/) { no_ranks(); }
  /// `count` floats, each of which is not zero on one rank of the group at most: every rank of the
  /// group gets all of them.
  virtual void gather_disjoint(const plan::RankGroup& /*group*/,
                               float* /*to*/,
                               const float* /*from*/,
                               std::size_t /*count*/) {
    no_ranks();
  }
  /// As kernels::sum_parts_cpu(). With `squares`, which are parts of the sum, it also makes their
  /// sums of squares, and may leave the rest of `sum` as it is.
  virtual void sum_parts(const SumParts& /*sum*/,
                         const std::vector<kernels::SummedPart>& /*squares*/) {
    no_ranks();
  }

 private:
  [[noreturn]] static void no_ranks() {
    throw Error(ErrorCode::kMissingFeature, "this device of this build trains as one rank");
  }
};

/// Operations on the host's threads. Not thread-safe.
class HostOperations : public StreamOperations {
 public:
  /// Calls `done` when all that was asked for so far has ended: now, or later on any thread. `done`
  /// must not throw, nor ask for operations. Calls keep their order.
  virtual void when_ended(std::function<void()> done) = 0;
  /// Returns when all that was asked for so far has ended.
  virtual void wait_idle() = 0;
};

/// What adam() does.
enum class HostUpdates : std::uint8_t {
  kOneByOne,  ///< returns when the pass has ended
  kOverlap    ///< returns when it is enqueued. Passes over different moments overlap; other
              ///< operations wait for all
};

struct HostOperationsOptions {
  int threads = 1;
  Communicator* ranks = nullptr;  ///< for collective operations; nullptr: there are none
  std::optional<int> first_cpu;   ///< if given, threads are bound (kernels/thread_pool.h)
  HostUpdates updates = HostUpdates::kOneByOne;
};
[[nodiscard]] std::unique_ptr<HostOperations> make_host_operations(
    const HostOperationsOptions& options);

}  // namespace elixir::runtime
