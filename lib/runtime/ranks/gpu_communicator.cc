// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Exchanges between GPUs: by copies where these can do all of it, by NCCL otherwise, and a thread
// that ends what waits for a rank that is gone.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
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
#include "runtime/ranks/nccl.h"
#include "runtime/ranks/peer_copies.h"
#include "runtime/ranks/wire.h"

namespace elixir::runtime {
namespace {

using replay::check_cuda;

constexpr std::chrono::milliseconds kBetweenLooks{100};

/// Where a rank computes.
struct Seat {
  std::array<char, 64> host{};
  std::array<char, 64> boot{};  ///< tells apart machines of one name
  std::array<char, 32> bus{};
  [[nodiscard]] bool operator==(const Seat&) const = default;
};

/// It came from another rank: it may have no end.
template <std::size_t kBytes>
std::string text_of(const std::array<char, kBytes>& text) {
  return printable({text.data(), ::strnlen(text.data(), kBytes)});
}

Seat own_seat() {
  Seat seat;
  ::gethostname(seat.host.data(), seat.host.size() - 1);
  std::ifstream("/proc/sys/kernel/random/boot_id").read(seat.boot.data(), seat.boot.size() - 1);
  int device = 0;
  check_cuda(cudaGetDevice(&device), "asking for the GPU");
  check_cuda(cudaDeviceGetPCIBusId(seat.bus.data(), static_cast<int>(seat.bus.size()), device),
             "asking for the GPU");
  return seat;
}

/// Two ranks on one GPU are a mistake, but in tests. NCCL refuses them, unless it takes them for
/// ranks of different machines.
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
                  text_of(seats[a].bus),
                  text_of(seats[a].host))
          .help("give each rank a GPU of its own, or search again with fewer --gpus");
    }
  }
}

class GpuCommunicator final : public DeviceCommunicator {
 public:
  GpuCommunicator(Communicator& host, const plan::RankGrid& grid, bool nccl_adds_up)
      : host_(host), grid_(grid), copies_(PeerCopies::make(host)) {
    if (copies_ == nullptr || nccl_adds_up) {
      nccl_ = connect_nccl(host, grid, /*sums_alone=*/copies_ != nullptr);
    }
    check_cuda(cudaGetDevice(&device_), "asking for the GPU");
    check_cuda(cudaEventCreateWithFlags(&nccl_done_, cudaEventDisableTiming), "creating an event");
    watcher_ = std::thread([this] { watch(); });
  }
  ~GpuCommunicator() override {
    ends_ = true;
    watcher_.join();
    // Otherwise NCCL would wait for the lost rank to take leave, too.
    if (nccl_ != nullptr && !ended_ && host_.lost()) nccl_->abort();
    static_cast<void>(cudaEventDestroy(nccl_done_));
    for (const auto& [stream, last] : last_) static_cast<void>(cudaEventDestroy(last.event));
  }
  GpuCommunicator(const GpuCommunicator&) = delete;
  GpuCommunicator& operator=(const GpuCommunicator&) = delete;

  void share(void* memory, std::int64_t bytes) override {
    if (copies_ != nullptr) copies_->share(memory, bytes);
  }
  void unshare() override {
    if (copies_ != nullptr) copies_->unshare();
  }
  void all_gather(const plan::RankGroup& group,
                  void* all,
                  const void* own,
                  std::int64_t part_bytes,
                  Stream stream) override {
    enqueue_either(
        stream,
        [&] { copies_->all_gather(group, all, own, part_bytes, stream); },
        [&] { nccl_->all_gather(group, all, own, part_bytes, stream); });
  }
  void all_to_all(const plan::RankGrid& grid,
                  void* to,
                  const void* from,
                  std::int64_t part_bytes,
                  Stream stream) override {
    enqueue_either(
        stream,
        [&] { copies_->all_to_all(grid, to, from, part_bytes, stream); },
        [&] { nccl_->all_to_all(to, from, part_bytes, stream); });
  }
  void reduce_scatter(const plan::RankGrid& /*grid*/,
                      void* to,
                      const void* from,
                      std::size_t shard_elements,
                      kernels::Element type,
                      Stream stream) override {
    require(nccl_ != nullptr, "NCCL adds up, but is not connected");
    enqueue_nccl(stream, [&] { nccl_->reduce_scatter(to, from, shard_elements, type, stream); });
  }
  void broadcast(int root, void* data, std::int64_t bytes, Stream stream) override {
    enqueue_either(
        stream,
        [&] { copies_->broadcast(grid_.all(), root, data, bytes, stream); },
        [&] { nccl_->broadcast(root, data, bytes, stream); });
  }
  void gather_disjoint(const plan::RankGroup& group,
                       float* to,
                       const float* from,
                       std::size_t count,
                       Stream stream) override {
    // With zeros, any order of sums gives the same.
    enqueue_either(
        stream,
        [&] { copies_->gather_disjoint(group, to, from, count, stream); },
        [&] { nccl_->all_reduce(group, to, from, count, stream); });
  }
  void check() const override {
    if (ended_) {
      const std::scoped_lock lock(mutex_);
      throw Error(ErrorCode::kRankLost, lost_);
    }
    if (copies_ == nullptr || !copies_->any_released()) return;
    // Another rank has released waits, and tells all ranks whom it lost.
    constexpr std::chrono::seconds kPatience{2};
    throw Error(
        ErrorCode::kRankLost,
        lost_within(host_, kPatience).value_or("another rank lost a rank, and did not tell which"));
  }

 private:
  /// A call of enqueue().
  struct UnderWay {
    explicit UnderWay(std::atomic<int>& calls) : calls(calls) { ++calls; }
    ~UnderWay() { --calls; }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    std::atomic<int>& calls;
  };

  /// The same way on every rank.
  template <class ByCopies, class ByNccl>
  void enqueue_either(Stream stream, const ByCopies& by_copies, const ByNccl& by_nccl) {
    if (copies_ != nullptr) {
      enqueue(stream, by_copies);
    } else {
      enqueue_nccl(stream, by_nccl);
    }
  }
  template <class Call>
  void enqueue(Stream stream, const Call& call) {
    // First, so that this call sees that a rank is lost, or who releases waits sees this call.
    const UnderWay under_way(calls_under_way_);
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
  /// On the GPU, too, NCCL gets one call after the other: it must do them in the same order
  /// everywhere.
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
      if (const auto lost = host_.lost(); lost && is_pending()) return end_all(*lost);
    }
  }
  void end_all(const std::string& lost) {
    // NCCL may never come back from being aborted.
    host_.tell_loss();
    {
      const std::scoped_lock lock(mutex_);
      lost_ = lost;
    }
    ended_ = true;  // check() throws before anything is released: that is garbage
    // NCCL waits for its own kernels, which may be behind a copy that waits for the lost rank.
    std::thread releaser([this] { release_waits(); });
    if (nccl_ != nullptr) nccl_->abort();
    releaser.join();
  }
  void release_waits() {
    static_cast<void>(cudaSetDevice(device_));
    while (copies_ != nullptr && !ends_ && is_pending()) {
      copies_->release_waits();
      std::this_thread::sleep_for(kBetweenLooks / 10);
    }
  }
  /// A rank that has ended when all is done is not missed.
  bool is_pending() {
    const std::scoped_lock lock(mutex_);
    bool pending = calls_under_way_ > 0;
    for (auto& [stream, last] : last_) {
      if (last.pending && cudaEventQuery(last.event) == cudaSuccess) last.pending = false;
      pending = pending || last.pending;
    }
    return pending;
  }

  Communicator& host_;
  plan::RankGrid grid_;
  std::unique_ptr<PeerCopies> copies_;  ///< nullptr: not possible here
  std::unique_ptr<Nccl> nccl_;          ///< nullptr: copies do everything
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
  std::atomic<int> calls_under_way_{0};
  std::atomic<bool> ended_{false};  ///< because of a lost rank
  std::atomic<bool> ends_{false};   ///< with this object
  std::thread watcher_;
};

}  // namespace

std::unique_ptr<DeviceCommunicator> make_device_communicator(Communicator& host,
                                                             const plan::RankGrid& grid,
                                                             bool nccl_adds_up) {
  check_seats(host);
  return std::make_unique<GpuCommunicator>(host, grid, nccl_adds_up);
}

}  // namespace elixir::runtime
