// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/peer_copies.h"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "kernels/cuda_kernels.h"
#include "replay/cuda_status.h"
#include "runtime/ranks/device_communicator.h"

namespace elixir::runtime {
namespace {

using replay::check_cuda;

constexpr std::uint32_t kFarAhead = 1U << 30;  // counters are compared as differences
constexpr std::chrono::seconds kForLettingGo{5};
/// Nobody's counters share a cache line: others read it while it is written.
constexpr std::size_t kCounterBytes = 64;
/// For what a stream exchanges in pieces: sums of squares of 10 billion parameters are 600 KB a
/// rank.
constexpr std::int64_t kPiecesBytes = 4 << 20;

/// What a rank tells the others of memory that it shares.
struct Offer {
  cudaIpcMemHandle_t handle{};
  std::int64_t bytes = 0;
  bool made = false;
};

/// nullptr when the driver does not have it.
template <class Function>
Function driver_call(const char* name) {
  constexpr unsigned int kCuda12 = 12000;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &found, kCuda12, cudaEnableDefault, &result);
  if (status != cudaSuccess || result != cudaDriverEntryPointSuccess) {
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  return reinterpret_cast<Function>(found);
}

void check_driver(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  throw Error(ErrorCode::kDeviceFailure,
              "exchanging with other ranks: the driver's error {}",
              static_cast<int>(result));
}

}  // namespace

struct PeerCopies::Driver {
  PFN_cuStreamBatchMemOp_v11070 batch = nullptr;
};

/// What a stream is to write and to wait for, in one call of the driver: one after the other takes
/// longer.
class PeerCopies::Operations {
 public:
  void write(CUdeviceptr address, std::uint32_t value) {
    CUstreamBatchMemOpParams& operation = operations_.emplace_back();
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = address;
    operation.writeValue.value = value;
    operation.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  }
  /// Until what is there is at least `least`.
  void wait(CUdeviceptr address, std::uint32_t least) {
    CUstreamBatchMemOpParams& operation = operations_.emplace_back();
    operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operation.waitValue.address = address;
    operation.waitValue.value = least;
    operation.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  }
  void enqueue(const Driver& driver, Stream stream) {
    if (operations_.empty()) return;  // a group of one rank waits for nobody
    check_driver(
        driver.batch(stream, static_cast<unsigned>(operations_.size()), operations_.data(), 0));
    operations_.clear();
  }

 private:
  std::vector<CUstreamBatchMemOpParams> operations_;
};

std::unique_ptr<PeerCopies> PeerCopies::make(Communicator& host) {
  const Driver driver{driver_call<PFN_cuStreamBatchMemOp_v11070>("cuStreamBatchMemOp")};
  const bool wanted = std::getenv(kNoPeerCopiesVariable) == nullptr;
  const bool possible = wanted && driver.batch != nullptr;
  if (!on_all_ranks(host, possible)) return nullptr;
  std::unique_ptr<PeerCopies> copies(new PeerCopies(host, driver));
  if (copies->try_count() && copies->try_reach()) return copies;
  log::info("the GPUs cannot copy to each other's memory: all exchanges go through NCCL");
  return nullptr;
}

bool PeerCopies::try_count() {
  counters_ = SharedHostMemory::make(host_, let_go_offset() + kCounterBytes);
  if (counters_ == nullptr) return false;
  void* address = nullptr;
  const bool mapped =
      cudaHostRegister(counters_->data(), counters_->bytes(), cudaHostRegisterMapped) ==
          cudaSuccess &&
      cudaHostGetDevicePointer(&address, counters_->data(), 0) == cudaSuccess;
  static_cast<void>(cudaGetLastError());
  counters_on_device_ = reinterpret_cast<std::uint64_t>(address);
  return on_all_ranks(host_, mapped);
}

bool PeerCopies::try_reach() {
  const std::int64_t bytes = kStreams * kPiecesBytes;
  static_assert(kPiecesBytes >= DeviceCommunicator::kLeastSharedBytes);
  check_cuda(cudaMalloc(&pieces_, static_cast<std::size_t>(bytes)), "sharing memory");
  const bool reached = try_share(pieces_, bytes);
  if (reached) return true;
  close(shared_.back());
  shared_.pop_back();
  // Nobody may still have it open when it is freed.
  static_cast<void>(on_all_ranks(host_, true));
  return false;
}

PeerCopies::PeerCopies(Communicator& host, const Driver& driver)
    : host_(host),
      driver_(std::make_unique<Driver>(driver)),
      rank_(host.rank()),
      world_(host.world()) {}

PeerCopies::~PeerCopies() {
  unshare();
  static_cast<void>(cudaFree(pieces_));
  if (counters_ != nullptr) static_cast<void>(cudaHostUnregister(counters_->data()));
  static_cast<void>(cudaGetLastError());
}

void PeerCopies::unshare() {
  if (std::exchange(unshared_, true)) return;
  for (const Shared& shared : shared_) close(shared);
  shared_.clear();
  if (counters_ == nullptr) return;
  const std::atomic_ref<std::uint32_t> let_go = at(let_go_offset());
  ++let_go;
  // A rank that fails is not waited for, and does not wait: the others learn of it afterwards.
  const auto deadline = std::chrono::steady_clock::now() + kForLettingGo;
  while (let_go < static_cast<std::uint32_t>(world_) && std::uncaught_exceptions() == 0 &&
         !any_released() && !host_.lost() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void PeerCopies::close(const Shared& shared) {
  for (char* memory : shared.of_rank) {
    if (memory != nullptr && memory != shared.own) {
      static_cast<void>(cudaIpcCloseMemHandle(memory));
    }
  }
}

void PeerCopies::share(void* memory, std::int64_t bytes) {
  if (try_share(memory, bytes)) return;
  throw Error(ErrorCode::kDeviceFailure, "a GPU cannot reach the memory of another rank's")
      .help("set {}=1 to exchange through NCCL", kNoPeerCopiesVariable);
}

bool PeerCopies::try_share(void* memory, std::int64_t bytes) {
  Offer own{.bytes = bytes};
  own.made = bytes >= DeviceCommunicator::kLeastSharedBytes &&
             cudaIpcGetMemHandle(&own.handle, memory) == cudaSuccess;
  std::vector<Offer> offers(static_cast<std::size_t>(world_));
  host_.all_gather(offers.data(), &own, sizeof own);
  Shared shared{.own = static_cast<char*>(memory), .bytes = bytes, .of_rank = {}};
  shared.of_rank.resize(offers.size());
  bool all = true;
  for (std::size_t rank = 0; rank < offers.size(); ++rank) {
    const Offer& offer = offers[rank];
    if (static_cast<int>(rank) == rank_) {
      shared.of_rank[rank] = shared.own;
      continue;
    }
    all = all && offer.made && offer.bytes == bytes;
    void* opened = nullptr;
    all = all && cudaIpcOpenMemHandle(&opened, offer.handle, cudaIpcMemLazyEnablePeerAccess) ==
                     cudaSuccess;
    shared.of_rank[rank] = static_cast<char*>(opened);
  }
  static_cast<void>(cudaGetLastError());
  shared_.push_back(std::move(shared));
  return on_all_ranks(host_, all && own.made);
}

const PeerCopies::Shared* PeerCopies::find(const void* memory, std::int64_t bytes) const {
  const char* first = static_cast<const char*>(memory);
  const auto found = std::find_if(shared_.begin(), shared_.end(), [&](const Shared& shared) {
    return first >= shared.own && first + bytes <= shared.own + shared.bytes;
  });
  return found == shared_.end() ? nullptr : &*found;
}

int PeerCopies::number_of(Stream stream) {
  const auto found = std::find(streams_.begin(), streams_.end(), stream);
  if (found != streams_.end()) return static_cast<int>(found - streams_.begin());
  require(streams_.size() < kStreams, "more streams exchange than there are counters for");
  streams_.push_back(stream);
  return static_cast<int>(streams_.size()) - 1;
}

std::size_t PeerCopies::offset_of(int written_by, int stream, Counter counter) {
  const int of_stream = written_by * kStreams + stream;
  return static_cast<std::size_t>(of_stream * kCounters + static_cast<int>(counter)) *
         kCounterBytes;
}

std::size_t PeerCopies::released_offset() const {
  return offset_of(world_, 0, Counter::kReady);
}

std::size_t PeerCopies::let_go_offset() const {
  return released_offset() + kCounterBytes;
}

std::atomic_ref<std::uint32_t> PeerCopies::at(std::size_t offset) const {
  char* counters = static_cast<char*>(counters_->data());
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(counters + offset));
}

template <class PartFor>
void PeerCopies::exchange(const plan::RankGroup& group,
                          void* to,
                          std::int64_t part_bytes,
                          Stream stream,
                          const PartFor& part_for) {
  const Shared* shared = find(to, group.count * part_bytes);
  require(shared != nullptr, "an exchange outside of shared memory");
  const int own_place = group.position(rank_);
  const std::int64_t place = static_cast<char*>(to) - shared->own + own_place * part_bytes;
  const auto bytes = static_cast<std::size_t>(part_bytes);
  const int number = number_of(stream);
  const std::uint32_t count = ++count_[static_cast<std::size_t>(number)];
  const auto address_of = [&](int rank, Counter counter) {
    return counters_on_device_ + offset_of(rank, number, counter);
  };
  // Each begins with the rank after it, so that not all copy to the same one.
  const auto for_each_peer = [&](const auto& visit) {
    for (int i = 1; i < group.count; ++i) visit(group.rank((own_place + i) % group.count));
  };
  Operations operations;
  const auto await_peers = [&](Counter counter) {
    for_each_peer([&](int peer) { operations.wait(address_of(peer, counter), count); });
    operations.enqueue(*driver_, stream);
  };
  operations.write(address_of(rank_, Counter::kReady), count);
  if (const char* own = part_for(rank_); own != shared->own + place) {
    operations.enqueue(*driver_, stream);  // the others learn of it meanwhile
    check_cuda(cudaMemcpyAsync(shared->own + place, own, bytes, cudaMemcpyDeviceToDevice, stream),
               "copying a part");
  }
  await_peers(Counter::kReady);
  for_each_peer([&](int peer) {
    char* there = shared->of_rank[static_cast<std::size_t>(peer)] + place;
    check_cuda(cudaMemcpyAsync(there, part_for(peer), bytes, cudaMemcpyDefault, stream),
               "copying to another rank");
  });
  operations.write(address_of(rank_, Counter::kArrived), count);
  await_peers(Counter::kArrived);
}

void PeerCopies::all_gather(const plan::RankGroup& group,
                            void* all,
                            const void* own,
                            std::int64_t part_bytes,
                            Stream stream) {
  exchange(group, all, part_bytes, stream, [&](int) { return static_cast<const char*>(own); });
}

void PeerCopies::all_to_all(const plan::RankGrid& grid,
                            void* to,
                            const void* from,
                            std::int64_t part_bytes,
                            Stream stream) {
  exchange(grid.all(), to, part_bytes, stream, [&](int peer) {
    return static_cast<const char*>(from) + grid.part_of(peer) * part_bytes;
  });
}

template <class Visit>
void PeerCopies::gather_pieces(const plan::RankGroup& group,
                               const void* from,
                               std::int64_t bytes,
                               Stream stream,
                               const Visit& visit) {
  constexpr std::int64_t kAlignment = 256;
  const std::int64_t most = kPiecesBytes / group.count / kAlignment * kAlignment;
  char* gathered = static_cast<char*>(pieces_) + number_of(stream) * kPiecesBytes;
  for (std::int64_t begin = 0; begin < bytes; begin += most) {
    const std::int64_t piece = std::min(most, bytes - begin);
    all_gather(group, gathered, static_cast<const char*>(from) + begin, piece, stream);
    visit(gathered, begin, piece);
  }
}

void PeerCopies::broadcast(
    const plan::RankGroup& group, int root, void* data, std::int64_t bytes, Stream stream) {
  // Everybody's go to everybody, for simplicity: they are small.
  gather_pieces(group,
                data,
                bytes,
                stream,
                [&](const char* gathered, std::int64_t begin, std::int64_t piece) {
                  if (rank_ == root) return;
                  check_cuda(cudaMemcpyAsync(static_cast<char*>(data) + begin,
                                             gathered + group.position(root) * piece,
                                             static_cast<std::size_t>(piece),
                                             cudaMemcpyDeviceToDevice,
                                             stream),
                             "sharing with other ranks");
                });
}

void PeerCopies::gather_disjoint(
    const plan::RankGroup& group, float* to, const float* from, std::size_t count, Stream stream) {
  const auto bytes = static_cast<std::int64_t>(count * sizeof(float));
  gather_pieces(group,
                from,
                bytes,
                stream,
                [&](const char* gathered, std::int64_t begin, std::int64_t piece) {
                  kernels::sum_parts_cuda(reinterpret_cast<char*>(to) + begin,
                                          kernels::Element::kFloat32,
                                          gathered,
                                          kernels::Element::kFloat32,
                                          static_cast<std::size_t>(group.count),
                                          static_cast<std::size_t>(piece) / sizeof(float),
                                          kernels::Accumulate::kFirst,
                                          stream);
                });
}

void PeerCopies::release_waits() {
  at(released_offset()).store(1);
  for (int stream = 0; stream < kStreams; ++stream) {
    const std::uint32_t far = count_[static_cast<std::size_t>(stream)] + kFarAhead;
    for (const Counter counter : {Counter::kReady, Counter::kArrived}) {
      for (int rank = 0; rank < world_; ++rank) at(offset_of(rank, stream, counter)).store(far);
    }
  }
}

bool PeerCopies::any_released() const {
  return at(released_offset()).load() != 0;
}

}  // namespace elixir::runtime
