// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/nccl.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "replay/cuda_status.h"
#include "runtime/ranks/apart.h"

namespace elixir::runtime {
namespace {

using replay::check_cuda;

constexpr std::chrono::milliseconds kBetweenNcclLooks{100};
constexpr int kLooksAfterFailure = 10;

void check_nccl(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  throw Error(ErrorCode::kDeviceFailure,
              "{}: {} ({})",
              what,
              ncclGetErrorString(result),
              ncclGetLastError(nullptr));
}

ncclDataType_t nccl_type(kernels::Element type) {
  switch (type) {
    case kernels::Element::kFloat32:
      return ncclFloat32;
    case kernels::Element::kBFloat16:
      return ncclBfloat16;
    case kernels::Element::kFloat16:
      return ncclFloat16;
  }
  return ncclFloat32;
}

class NcclCalls final : public Nccl {
 public:
  NcclCalls(const ncclUniqueId& id, int rank, const plan::RankGrid& grid)
      : rank_(rank), grid_(grid) {
    check_nccl(ncclCommInitRank(&all_, grid.world, id, rank), "connecting the GPUs");
    if (grid.replicas == 1 || grid.shards() == 1) return;  // groups are of all ranks or of one
    check_nccl(ncclCommSplit(all_, grid.replica_of(rank), rank, &same_replica_, nullptr),
               "connecting the GPUs of a replica");
    check_nccl(ncclCommSplit(all_, grid.shard_of(rank), rank, &same_shard_, nullptr),
               "connecting the GPUs of a shard");
  }
  ~NcclCalls() override {
    if (aborted_) return;
    for (const ncclComm_t communicator : communicators()) {
      static_cast<void>(ncclCommDestroy(communicator));
    }
  }
  NcclCalls(const NcclCalls&) = delete;
  NcclCalls& operator=(const NcclCalls&) = delete;

  void abort() override {
    if (aborted_.exchange(true)) return;
    for (const ncclComm_t communicator : communicators()) {
      static_cast<void>(ncclCommAbort(communicator));
    }
  }

  void all_gather(const plan::RankGroup& group,
                  void* all,
                  const void* own,
                  std::int64_t part_bytes,
                  cudaStream_t stream) override {
    const auto bytes = static_cast<std::size_t>(part_bytes);
    if (group.count == 1) return copy(all, own, bytes, stream);
    check_nccl(ncclAllGather(own, all, bytes, ncclInt8, communicator_of(group), stream),
               "gathering from other ranks");
  }
  void all_to_all(void* to,
                  const void* from,
                  std::int64_t part_bytes,
                  cudaStream_t stream) override {
    const auto bytes = static_cast<std::size_t>(part_bytes);
    check_nccl(ncclGroupStart(), "exchanging with other ranks");
    for (int peer = 0; peer < grid_.world; ++peer) {
      const char* part = static_cast<const char*>(from) + grid_.part_of(peer) * part_bytes;
      char* place = static_cast<char*>(to) + peer * part_bytes;
      if (peer == rank_) {
        copy(place, part, bytes, stream);
        continue;
      }
      check_nccl(ncclSend(part, bytes, ncclInt8, peer, all_, stream),
                 "exchanging with other ranks");
      check_nccl(ncclRecv(place, bytes, ncclInt8, peer, all_, stream),
                 "exchanging with other ranks");
    }
    check_nccl(ncclGroupEnd(), "exchanging with other ranks");
  }
  void reduce_scatter(void* to,
                      const void* from,
                      std::size_t n,
                      kernels::Element type,
                      cudaStream_t stream) override {
    const plan::RankGroup replica = grid_.same_replica(rank_), shard = grid_.same_shard(rank_);
    const ncclDataType_t nccl = nccl_type(type);
    if (replica.count == 1) {
      copy(to, from, n * kernels::bytes_of(type), stream);
    } else {
      check_nccl(ncclReduceScatter(from, to, n, nccl, ncclSum, communicator_of(replica), stream),
                 "adding up over ranks");
    }
    if (shard.count == 1) return;
    check_nccl(ncclAllReduce(to, to, n, nccl, ncclSum, communicator_of(shard), stream),
               "adding up over replicas");
  }
  void broadcast(int root, void* data, std::int64_t bytes, cudaStream_t stream) override {
    check_nccl(
        ncclBroadcast(data, data, static_cast<std::size_t>(bytes), ncclInt8, root, all_, stream),
        "sharing with other ranks");
  }
  void all_reduce(const plan::RankGroup& group,
                  float* to,
                  const float* from,
                  std::size_t count,
                  cudaStream_t stream) override {
    if (group.count == 1) return copy(to, from, count * sizeof(float), stream);
    check_nccl(ncclAllReduce(from, to, count, ncclFloat, ncclSum, communicator_of(group), stream),
               "adding up over ranks");
  }

  /// Each operation that steps will use once, so that connections and NCCL's own memory exist
  /// before the first one.
  void warm_up(bool sums_alone) {
    constexpr std::int64_t kPartBytes = 1 << 20;
    cudaStream_t stream = nullptr;
    void* memory = nullptr;
    const int world = grid_.world;
    const auto bytes = static_cast<std::size_t>(std::int64_t{2} * world * kPartBytes);
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "connecting the GPUs");
    check_cuda(cudaMalloc(&memory, bytes), "connecting the GPUs");
    check_cuda(cudaMemsetAsync(memory, 0, bytes, stream), "connecting the GPUs");
    char* half = static_cast<char*>(memory) + world * kPartBytes;
    if (!sums_alone) {
      for (const plan::RankGroup& group :
           {grid_.all(), grid_.same_replica(rank_), grid_.same_shard(rank_)}) {
        char* own = static_cast<char*>(memory) + group.position(rank_) * kPartBytes;
        all_gather(group, memory, own, kPartBytes, stream);
        all_reduce(
            group, reinterpret_cast<float*>(half), static_cast<float*>(memory), 1024, stream);
      }
      all_to_all(half, memory, kPartBytes, stream);
      broadcast(0, memory, kPartBytes, stream);
    }
    reduce_scatter(half, memory, kPartBytes / sizeof(float), kernels::Element::kFloat32, stream);
    check_cuda(cudaStreamSynchronize(stream), "connecting the GPUs");
    check_cuda(cudaFree(memory), "connecting the GPUs");
    check_cuda(cudaStreamDestroy(stream), "connecting the GPUs");
  }

 private:
  /// The last one to end is the one that the others came from.
  [[nodiscard]] std::vector<ncclComm_t> communicators() const {
    if (same_replica_ == nullptr) return {all_};
    return {same_shard_, same_replica_, all_};
  }
  /// Of a group of several ranks.
  [[nodiscard]] ncclComm_t communicator_of(const plan::RankGroup& group) const {
    if (group.count == grid_.world) return all_;
    return group.stride == 1 ? same_replica_ : same_shard_;
  }
  static void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
    if (to == from) return;
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream),
               "copying a part");
  }

  int rank_;
  plan::RankGrid grid_;
  ncclComm_t all_ = nullptr, same_replica_ = nullptr, same_shard_ = nullptr;
  std::atomic<bool> aborted_{false};
};

}  // namespace

// NCCL waits for other ranks without a limit. When a rank is lost meanwhile, it still does so when
// this process ends.
std::unique_ptr<Nccl> connect_nccl(Communicator& host,
                                   const plan::RankGrid& grid,
                                   bool sums_alone) {
  // NVLink SHARP, which NCCL chooses from three GPUs on, adds up in another order at each call, and
  // takes its memory at the first one. A user's own setting stays.
  ::setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/0);
  ncclUniqueId id{};
  if (host.rank() == 0) check_nccl(ncclGetUniqueId(&id), "connecting the GPUs");
  host.broadcast(0, &id, sizeof id);
  int device = 0;
  check_cuda(cudaGetDevice(&device), "asking for the GPU");
  const auto promise = std::make_shared<std::promise<std::unique_ptr<NcclCalls>>>();
  std::future<std::unique_ptr<NcclCalls>> connected = promise->get_future();
  run_apart([id, device, rank = host.rank(), grid, sums_alone, promise] {
    try {
      check_cuda(cudaSetDevice(device), "choosing the GPU");
      auto calls = std::make_unique<NcclCalls>(id, rank, grid);
      calls->warm_up(sums_alone);
      promise->set_value(std::move(calls));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  });
  while (connected.wait_for(kBetweenNcclLooks) != std::future_status::ready) {
    if (const auto lost = host.lost()) throw Error(ErrorCode::kRankLost, *lost);
  }
  try {
    return connected.get();
  } catch (const Error&) {
    // NCCL may notice that a rank has ended before the heartbeat does, and does not say which.
    for (int looks = 0; looks < kLooksAfterFailure; ++looks) {
      if (const auto lost = host.lost()) throw Error(ErrorCode::kRankLost, *lost);
      std::this_thread::sleep_for(kBetweenNcclLooks);
    }
    throw;
  }
}

}  // namespace elixir::runtime
