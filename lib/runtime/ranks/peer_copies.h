// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Exchanges between the GPUs of one machine as plain copies: each rank writes its part to where the
// others need it. The copy engines do that, so operators keep all multiprocessors; NCCL's kernels
// take some, and wait for them. Ranks learn from counters when places are free and when parts have
// arrived, and the streams wait for these, not the hosts.
//
// The counters are in host memory that all ranks see: so a processor can release streams that wait
// for a rank that is gone. In a GPU's memory they would be faster, but only a stream can write
// there, and it may wait behind those that are to be released. A stream that writes a counter waits
// until all that it wrote before can be seen, 10 to 30 microseconds beside other copies. So a rank
// has one counter of a kind that all others read, and writes it once for all of them; and a stream
// gets writes and waits in one call of the driver, which saves more yet
// (benchmarks/exchange_benchmark.cc).
//
// What all_gather() and all_to_all() write must lie in shared memory. Every rank must share memory
// of the same sizes in the same order, and make the same calls with the same offsets into it: ranks
// run the same schedule. The small things that broadcast() and gather_disjoint() exchange may lie
// anywhere: they go through shared memory of this class, piece by piece. Exchanges of one stream
// follow each other. Those of two streams do not, so each of these has its own counters and pieces.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/ranks/communicator.h"
#include "runtime/ranks/shared_host_memory.h"

struct CUstream_st;

namespace elixir::runtime {

class PeerCopies {
 public:
  using Stream = CUstream_st*;  ///< cudaStream_t

  /// For the current GPU of each rank of `host`, which it uses here and in share(). nullptr on all
  /// ranks when some cannot write to the memory of another (kNoPeerCopiesVariable says so, too).
  [[nodiscard]] static std::unique_ptr<PeerCopies> make(Communicator& host);
  ~PeerCopies();
  PeerCopies(const PeerCopies&) = delete;
  PeerCopies& operator=(const PeerCopies&) = delete;

  /// As DeviceCommunicator's. Throws kDeviceFailure, kRankLost.
  void share(void* memory, std::int64_t bytes);
  void unshare();

  /// As DeviceCommunicator's. `all` or `to` must have been shared. At most kStreams streams.
  void all_gather(const plan::RankGroup& group,
                  void* all,
                  const void* own,
                  std::int64_t part_bytes,
                  Stream stream);
  void all_to_all(const plan::RankGrid& grid,
                  void* to,
                  const void* from,
                  std::int64_t part_bytes,
                  Stream stream);

  /// As DeviceCommunicator's, with any device memory, and `root` of `group`.
  void broadcast(
      const plan::RankGroup& group, int root, void* data, std::int64_t bytes, Stream stream);
  void gather_disjoint(
      const plan::RankGroup& group, float* to, const float* from, std::size_t count, Stream stream);

  /// Whatever waits for other ranks goes on, with garbage, on the other ranks too. any_released()
  /// is true before they do. Call it again while something is under way: a rank that lives may
  /// still count. Any thread.
  void release_waits();
  /// Whether some rank released waits: what was exchanged since may be garbage. Any thread.
  [[nodiscard]] bool any_released() const;

 private:
  /// Memory that all ranks have shared, as this process sees it.
  struct Shared {
    char* own = nullptr;
    std::int64_t bytes = 0;
    std::vector<char*> of_rank;  ///< by rank; `own` for its own
  };
  /// How many exchanges of a stream a rank is ready for, and of how many its parts have arrived.
  /// Only that rank's stream writes them, but for release_waits().
  enum class Counter : std::uint8_t { kReady, kArrived };
  static constexpr int kCounters = 2;
  static constexpr int kStreams = 2;
  struct Driver;  ///< the driver's calls
  class Operations;

  PeerCopies(Communicator& host, const Driver& driver);
  /// The counters. The same answer on all ranks, as of the next two.
  [[nodiscard]] bool try_count();
  /// The pieces: whether ranks reach each other's memory.
  [[nodiscard]] bool try_reach();
  [[nodiscard]] bool try_share(void* memory, std::int64_t bytes);
  static void close(const Shared& shared);
  [[nodiscard]] const Shared* find(const void* memory, std::int64_t bytes) const;
  /// By first use, so that all ranks number their streams alike.
  [[nodiscard]] int number_of(Stream stream);
  /// In bytes, of a counter, and behind all of them of whether waits were released.
  [[nodiscard]] static std::size_t offset_of(int written_by, int stream, Counter counter);
  [[nodiscard]] std::size_t released_offset() const;
  /// Of how many ranks have let go of the memory of others.
  [[nodiscard]] std::size_t let_go_offset() const;
  [[nodiscard]] std::atomic_ref<std::uint32_t> at(std::size_t offset) const;
  /// `part_for(r)` goes to rank r of the group, to the place in its `to` that is this rank's.
  template <class PartFor>
  void exchange(const plan::RankGroup& group,
                void* to,
                std::int64_t part_bytes,
                Stream stream,
                const PartFor& part_for);

  /// `visit(gathered, begin, bytes)` for one piece of `from` after the other, once the group's
  /// pieces lie side by side in `gathered`.
  template <class Visit>
  void gather_pieces(const plan::RankGroup& group,
                     const void* from,
                     std::int64_t bytes,
                     Stream stream,
                     const Visit& visit);

  Communicator& host_;
  std::unique_ptr<Driver> driver_;
  int rank_, world_;
  std::unique_ptr<SharedHostMemory> counters_;
  std::uint64_t counters_on_device_ = 0;  ///< their address for streams
  void* pieces_ = nullptr;                ///< of kStreams streams, the first memory that is shared
  std::vector<Shared> shared_;
  std::vector<Stream> streams_;                               ///< by number
  std::array<std::atomic<std::uint32_t>, kStreams> count_{};  ///< exchanges so far, by stream
  bool unshared_ = false;
};

/// An environment variable: ranks exchange through NCCL, even where they could copy.
inline constexpr const char* kNoPeerCopiesVariable = "ELIXIR_NO_PEER_COPIES";

}  // namespace elixir::runtime
