// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Collectives of NCCL over the GPUs of this process. A build without NCCL has the same functions.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/links/contending_work.h"
#include "measure/sampling.h"

namespace elixir::measure {

enum class CollectiveOperation { kAllGather, kReduceScatter, kAllReduce, kBroadcast };

/// Why there are none; nullopt with NCCL and two GPUs.
[[nodiscard]] std::optional<std::string> collectives_unavailable(int gpus);

/// One communicator for each of the first `gpus` GPUs, driven by one thread.
class CollectiveGroup {
 public:
  /// Buffers for collectives of up to `most_bytes`.
  CollectiveGroup(int gpus, std::size_t most_bytes);
  ~CollectiveGroup();
  CollectiveGroup(const CollectiveGroup&) = delete;
  CollectiveGroup& operator=(const CollectiveGroup&) = delete;

  /// Seconds of one collective, the mean of `calls` in a row, from a common start to the end on the
  /// last GPU. `bytes` is of the whole result of an all-gather and of the whole input of a
  /// reduce-scatter, as in nccl-tests; of fp32. The result is checked.
  [[nodiscard]] std::vector<double> seconds(CollectiveOperation operation,
                                            std::size_t bytes,
                                            int calls,
                                            const Sampling& sampling);

 private:
  friend class CollectiveWork;
  struct State;
  std::unique_ptr<State> state_;
};

/// All-gathers of `bytes` over `gpus` GPUs, as a work beside others.
[[nodiscard]] std::unique_ptr<ContendingWork> make_collective_work(int gpus, std::size_t bytes);

/// Bytes over the bus of each GPU for each byte of the collective, after nccl-tests:
/// 2(n-1)/n for all-reduce, (n-1)/n for all-gather and reduce-scatter, 1 for broadcast.
[[nodiscard]] double bus_factor(CollectiveOperation operation, int gpus);

}  // namespace elixir::measure
