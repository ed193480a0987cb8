// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Work that shares a resource with other work: a link, host memory, device memory or cores. It is
// measured alone and beside other work.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "hardware/hardware_profile.h"
#include "measure/adam/rank_adam.h"
#include "measure/host/spread_memory.h"

namespace elixir::measure {

class ContendingWork {
 public:
  virtual ~ContendingWork() = default;
  ContendingWork() = default;
  ContendingWork(const ContendingWork&) = delete;
  ContendingWork& operator=(const ContendingWork&) = delete;
  [[nodiscard]] virtual std::string name() const = 0;  ///< as in the document: "host_to_device"
  /// Does one unit and returns when it is done, some milliseconds later. AdamW and GPU work keep
  /// the next unit queued, so that there is no gap between calls. Call it from one thread at a
  /// time.
  virtual void run_unit() = 0;
  /// Waits for queued work.
  virtual void finish() {}
};

/// Copies of host memory with a thread pool of its own.
[[nodiscard]] std::unique_ptr<ContendingWork> make_host_copy_work(std::size_t bytes, int threads);
/// AdamW's passes over the same `parameters` in `memory`, by ranks with these pools; by
/// hardware::AdamWrites. Only one of them may run at a time. If the pools' caller gives jobs,
/// chunks overlap.
[[nodiscard]] std::vector<std::unique_ptr<ContendingWork>> make_adam_cpu_works(
    std::size_t parameters, SpreadMemory& memory, RankAdam::Pools pools);

/// On one GPU. Throws kMissingFeature in a build without CUDA, as the following. The copies of
/// `bytes` go round places of `memory`, `in_stripe` of them in each stripe, or of other memory near
/// the GPU where that may not be near.
[[nodiscard]] std::unique_ptr<ContendingWork> make_link_work(hardware::Direction direction,
                                                             std::size_t bytes,
                                                             std::size_t in_stripe,
                                                             SpreadMemory& memory,
                                                             int gpu = 0);
/// Copies of `bytes` from one GPU to another, by the first.
[[nodiscard]] std::unique_ptr<ContendingWork> make_peer_copy_work(std::size_t bytes,
                                                                  int from,
                                                                  int to);
/// On the first GPU.
[[nodiscard]] std::unique_ptr<ContendingWork> make_matmul_work(int side);
/// The runtime's sum over ranks: two bf16 parts of `elements` each to one in fp32, and the squares
/// of these for the norm.
[[nodiscard]] std::unique_ptr<ContendingWork> make_rank_sum_work(std::size_t elements);

}  // namespace elixir::measure
