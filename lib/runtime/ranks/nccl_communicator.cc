// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "replay/cuda_status.h"
#include "runtime/ranks/device_communicator.h"
#include "runtime/ranks/peer_copies.h"

namespace elixir::runtime {
namespace {

using replay::check_cuda;

constexpr std::chrono::milliseconds kBetweenLooks{100};
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

/// Where a rank computes.
struct Seat {
  std::array<char, 64> host{};
  std::array<char, 32> bus{};
  [[nodiscard]] bool operator==(const Seat&) const = default;
};

Seat own_seat() {
  Seat seat;
  ::gethostname(seat.host.data(), seat.host.size() - 1);
  int device = 0;
  check_cuda(cudaGetDevice(&device), "asking for the GPU");
  check_cuda(cudaDeviceGetPCIBusId(seat.bus.data(), static_cast<int>(seat.bus.size()), device),
             "asking for the GPU");
  return seat;
}

/// NCCL refuses two ranks on one GPU, unless it takes them for ranks of different machines.
void check_seats(Communicator& host) {
  std::vector<Seat> seats(static_cast<std::size_t>(host.world()));
  const Seat own = own_seat();
  host.all_gather(seats.data(), &own, sizeof(Seat));
  for (std::size_t a = 0; a < seats.size(); ++a) {
    for (std::size_t b = a + 1; b < seats.size(); ++b) {
      if (seats[a] != seats[b]) continue;
      if (std::getenv(kShareGpusVariable) != nullptr) {
        const std::string id = fmt::format("elixir-rank-{}", host.rank());
        ::setenv("NCCL_HOSTID", id.c_str(), /*overwrite=*/1);
        return;
      }
      throw Error(ErrorCode::kMachineTooSmall,
                  "ranks {} and {} have the same GPU, {} of {}",
                  a,
                  b,
                  seats[a].bus.data(),
                  seats[a].host.data())
          .help("give each rank a GPU of its own, or search again with fewer --gpus");
    }
  }
}

/// Enqueues the collectives. Not thread-safe, except that another thread may abort them.
class NcclCalls {
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
  ~NcclCalls() {
    if (aborted_) return;
    for (const ncclComm_t communicator : communicators()) {
      static_cast<void>(ncclCommDestroy(communicator));
    }
  }
  NcclCalls(const NcclCalls&) = delete;
  NcclCalls& operator=(const NcclCalls&) = delete;

  void abort() {
    if (aborted_.exchange(true)) return;
    for (const ncclComm_t communicator : communicators()) {
      static_cast<void>(ncclCommAbort(communicator));
    }
  }
  [[nodiscard]] bool aborted() const { return aborted_; }

  void all_gather(const plan::RankGroup& group,
                  void* all,
                  const void* own,
                  std::int64_t part_bytes,
                  cudaStream_t stream) {
    const auto bytes = static_cast<std::size_t>(part_bytes);
    if (group.count == 1) return copy(all, own, bytes, stream);
    check_nccl(ncclAllGather(own, all, bytes, ncclInt8, communicator_of(group), stream),
               "gathering from other ranks");
  }
  void all_to_all(void* to, const void* from, std::int64_t part_bytes, cudaStream_t stream) {
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
  void reduce_scatter(
      void* to, const void* from, std::size_t n, kernels::Element type, cudaStream_t stream) {
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
  void broadcast(int root, void* data, std::int64_t bytes, cudaStream_t stream) {
    check_nccl(
        ncclBroadcast(data, data, static_cast<std::size_t>(bytes), ncclInt8, root, all_, stream),
        "sharing with other ranks");
  }
  void all_reduce(const plan::RankGroup& group,
                  float* to,
                  const float* from,
                  std::size_t count,
                  cudaStream_t stream) {
    if (group.count == 1) return copy(to, from, count * sizeof(float), stream);
    check_nccl(ncclAllReduce(from, to, count, ncclFloat, ncclSum, communicator_of(group), stream),
               "adding up over ranks");
  }

  /// Each operation that steps will use once, so that connections and NCCL's own memory exist before
  /// the first one. `exchanges`: also those that copies can do instead. They would take nearly 400 MiB
  /// of a GPU for each other rank.
  void warm_up(bool exchanges) {
    constexpr std::int64_t kPartBytes = 1 << 20;
    cudaStream_t stream = nullptr;
    void* memory = nullptr;
    const int world = grid_.world;
    const auto bytes = static_cast<std::size_t>(std::int64_t{2} * world * kPartBytes);
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "connecting the GPUs");
    check_cuda(cudaMalloc(&memory, bytes), "connecting the GPUs");
    check_cuda(cudaMemsetAsync(memory, 0, bytes, stream), "connecting the GPUs");
    char* half = static_cast<char*>(memory) + world * kPartBytes;
    for (const plan::RankGroup& group :
         {grid_.all(), grid_.same_replica(rank_), grid_.same_shard(rank_)}) {
      char* own = static_cast<char*>(memory) + group.position(rank_) * kPartBytes;
      if (exchanges) all_gather(group, memory, own, kPartBytes, stream);
      all_reduce(group, reinterpret_cast<float*>(half), static_cast<float*>(memory), 1024, stream);
    }
    if (exchanges) all_to_all(half, memory, kPartBytes, stream);
    reduce_scatter(half, memory, kPartBytes / sizeof(float), kernels::Element::kFloat32, stream);
    broadcast(0, memory, kPartBytes, stream);
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

/// Connected and warm. NCCL waits for other ranks without a limit, so a thread of its own does; when
/// a rank is lost meanwhile, that thread is left behind: this process ends.
std::shared_ptr<NcclCalls> connect(Communicator& host, const plan::RankGrid& grid, bool exchanges) {
  check_seats(host);
  // NVLink SHARP, which NCCL chooses from three GPUs on, adds up in another order at each call, and takes
  // its memory at the first one. A user's own setting stays.
  ::setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/0);
  ncclUniqueId id{};
  if (host.rank() == 0) check_nccl(ncclGetUniqueId(&id), "connecting the GPUs");
  host.broadcast(0, &id, sizeof id);
  int device = 0;
  check_cuda(cudaGetDevice(&device), "asking for the GPU");
  std::promise<std::shared_ptr<NcclCalls>> promise;
  std::future<std::shared_ptr<NcclCalls>> connected = promise.get_future();
  std::thread(
      [id, device, rank = host.rank(), grid, exchanges, promise = std::move(promise)]() mutable {
        try {
          check_cuda(cudaSetDevice(device), "choosing the GPU");
          auto calls = std::make_shared<NcclCalls>(id, rank, grid);
          calls->warm_up(exchanges);
          promise.set_value(std::move(calls));
        } catch (...) {
          promise.set_exception(std::current_exception());
        }
      })
      .detach();
  while (connected.wait_for(kBetweenLooks) != std::future_status::ready) {
    if (const auto lost = host.lost()) throw Error(ErrorCode::kRankLost, *lost);
  }
  try {
    return connected.get();
  } catch (const Error&) {
    // NCCL may notice that a rank has ended before the heartbeat does, and does not say which.
    for (int looks = 0; looks < kLooksAfterFailure; ++looks) {
      if (const auto lost = host.lost()) throw Error(ErrorCode::kRankLost, *lost);
      std::this_thread::sleep_for(kBetweenLooks);
    }
    throw;
  }
}

class NcclCommunicator final : public DeviceCommunicator {
 public:
  NcclCommunicator(Communicator& host, const plan::RankGrid& grid)
      : host_(host),
        copies_(PeerCopies::make(host)),
        calls_(connect(host, grid, /*exchanges=*/copies_ == nullptr)) {
    check_cuda(cudaGetDevice(&device_), "asking for the GPU");
    check_cuda(cudaEventCreateWithFlags(&nccl_done_, cudaEventDisableTiming), "creating an event");
    watcher_ = std::thread([this] { watch(); });
  }
  ~NcclCommunicator() override {
    ends_ = true;
    watcher_.join();
    // Otherwise NCCL would wait for the lost rank to take leave, too.
    if (host_.lost()) calls_->abort();
    static_cast<void>(cudaEventDestroy(nccl_done_));
    for (const auto& [stream, last] : last_) static_cast<void>(cudaEventDestroy(last.event));
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  void share(void* memory, std::int64_t bytes) override {
    if (!copies_) return;
    copies_->share(memory, bytes);
    // On all ranks alike.
    if (!copies_->covers(memory, bytes)) calls_->warm_up(/*exchanges=*/true);
  }
  void all_gather(const plan::RankGroup& group,
                  void* all,
                  const void* own,
                  std::int64_t part_bytes,
                  Stream stream) override {
    if (can_copy(all, group.count * part_bytes)) {
      enqueue(stream, [&] { copies_->all_gather(group, all, own, part_bytes, stream); });
    } else {
      enqueue_nccl(stream, [&] { calls_->all_gather(group, all, own, part_bytes, stream); });
    }
  }
  void all_to_all(const plan::RankGrid& grid,
                  void* to,
                  const void* from,
                  std::int64_t part_bytes,
                  Stream stream) override {
    if (can_copy(to, grid.world * part_bytes)) {
      enqueue(stream, [&] { copies_->all_to_all(grid, to, from, part_bytes, stream); });
    } else {
      enqueue_nccl(stream, [&] { calls_->all_to_all(to, from, part_bytes, stream); });
    }
  }
  void reduce_scatter(const plan::RankGrid& /*grid*/,
                      void* to,
                      const void* from,
                      std::size_t shard_elements,
                      kernels::Element type,
                      Stream stream) override {
    enqueue_nccl(stream, [&] { calls_->reduce_scatter(to, from, shard_elements, type, stream); });
  }
  void broadcast(int root, void* data, std::int64_t bytes, Stream stream) override {
    enqueue_nccl(stream, [&] { calls_->broadcast(root, data, bytes, stream); });
  }
  void all_reduce(const plan::RankGroup& group,
                  float* to,
                  const float* from,
                  std::size_t count,
                  Stream stream) override {
    enqueue_nccl(stream, [&] { calls_->all_reduce(group, to, from, count, stream); });
  }
  void check() const override {
    if (!calls_->aborted()) return;
    const std::scoped_lock lock(mutex_);
    throw Error(ErrorCode::kRankLost, lost_);
  }

 private:
  /// The same on every rank, because all have shared the same and run the same schedule.
  [[nodiscard]] bool can_copy(const void* to, std::int64_t bytes) const {
    return copies_ != nullptr && copies_->covers(to, bytes);
  }
  template <class Call>
  void enqueue(Stream stream, const Call& call) {
    check();
    call();
    const std::scoped_lock lock(mutex_);
    LastCall& last = last_[stream];
    if (last.event == nullptr) {
      check_cuda(cudaEventCreateWithFlags(&last.event, cudaEventDisableTiming),
                 "creating an event");
    }
    check_cuda(cudaEventRecord(last.event, stream), "following a collective");
    last.pending = true;
  }
  /// On the GPU, too, NCCL gets one call after the other: it must do them in the same order everywhere.
  template <class Call>
  void enqueue_nccl(Stream stream, const Call& call) {
    if (nccl_stream_ != nullptr && nccl_stream_ != stream) {
      check_cuda(cudaStreamWaitEvent(stream, nccl_done_), "ordering collectives");
    }
    enqueue(stream, call);
    check_cuda(cudaEventRecord(nccl_done_, stream), "ordering collectives");
    nccl_stream_ = stream;
  }

  void watch() {
    static_cast<void>(cudaSetDevice(device_));
    while (!ends_) {
      std::this_thread::sleep_for(kBetweenLooks);
      if (const auto lost = host_.lost(); lost && is_pending()) {
        // NCCL may never come back from being aborted.
        host_.tell_loss();
        {
          const std::scoped_lock lock(mutex_);
          lost_ = *lost;
        }
        // NCCL waits for its own kernels, which may be behind a copy that waits for the lost rank.
        std::thread releaser([this] { release_waits(); });
        calls_->abort();
        releaser.join();
        return;
      }
    }
  }
  /// Once check() throws: what is released is garbage.
  void release_waits() {
    static_cast<void>(cudaSetDevice(device_));
    while (copies_ != nullptr && !ends_ && is_pending()) {
      if (calls_->aborted()) copies_->release_waits();
      std::this_thread::sleep_for(kBetweenLooks / 10);
    }
  }
  /// A rank that has ended when all is done is not missed.
  bool is_pending() {
    const std::scoped_lock lock(mutex_);
    bool pending = false;
    for (auto& [stream, last] : last_) {
      if (last.pending && cudaEventQuery(last.event) == cudaSuccess) last.pending = false;
      pending = pending || last.pending;
    }
    return pending;
  }

  Communicator& host_;
  std::unique_ptr<PeerCopies> copies_;  ///< nullptr: not possible here
  std::shared_ptr<NcclCalls> calls_;
  int device_ = 0;
  mutable std::mutex mutex_;
  /// The last collective of a stream.
  struct LastCall {
    cudaEvent_t event = nullptr;
    bool pending = false;
  };
  std::map<Stream, LastCall> last_;
  Stream nccl_stream_ = nullptr;     ///< of NCCL's last call
  cudaEvent_t nccl_done_ = nullptr;  ///< after it
  std::string lost_;
  std::atomic<bool> ends_{false};
  std::thread watcher_;
};

}  // namespace

std::unique_ptr<DeviceCommunicator> make_device_communicator(Communicator& host,
                                                             const plan::RankGrid& grid) {
  return std::make_unique<NcclCommunicator>(host, grid);
}

}  // namespace elixir::runtime
