// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// NCCL collectives over the GPUs of this process. A build without NCCL has the same functions.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/links/contending_work.h"
#include "measure/sampling.h"

namespace elixir::measure {

enum class CollectiveOperation { kAllGather, kReduceScatter, kAllReduce, kBroadcast };

/// The reason why collectives cannot run; nullopt with NCCL and at least two GPUs.
[[nodiscard]] std::optional<std::string> collectives_unavailable(int gpus);

/// One communicator for each of the first `gpus` GPUs. One thread drives them all.
class CollectiveGroup {
 public:
  /// Allocates buffers for collectives of up to `most_bytes`.
  CollectiveGroup(int gpus, std::size_t most_bytes);
  ~CollectiveGroup();
  CollectiveGroup(const CollectiveGroup&) = delete;
  CollectiveGroup& operator=(const CollectiveGroup&) = delete;

  /// Seconds of one collective, as the mean of `calls` in a row, from a common start to the end on
  /// the last GPU. As in nccl-tests, `bytes` is the whole result of an all-gather, or the whole
  /// input of a reduce-scatter, in fp32. The result is checked.
  [[nodiscard]] std::vector<double> seconds(CollectiveOperation operation,
                                            std::size_t bytes,
                                            int calls,
                                            const Sampling& sampling);

 private:
  friend class CollectiveWork;
  struct State;
  std::unique_ptr<State> state_;
};

/// All-gathers of `bytes` over `gpus` GPUs, as work to run beside other work.
[[nodiscard]] std::unique_ptr<ContendingWork> make_collective_work(int gpus, std::size_t bytes);

/// Bus bytes of each GPU for each byte of the collective, as in nccl-tests: 2(n-1)/n for
/// all-reduce, (n-1)/n for all-gather and reduce-scatter, 1 for broadcast.
[[nodiscard]] double bus_factor(CollectiveOperation operation, int gpus);

}  // namespace elixir::measure
