// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the ranks of a training exchange. Every rank must make the same calls in the same order,
// with the same sizes, from one thread at a time. A call returns when this rank has sent and
// received its part. Throws kRankLost when another rank is gone.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "plan/rank_grid.h"

namespace elixir::runtime {

class TaskRecorder;

class Communicator {
 public:
  virtual ~Communicator() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world() const = 0;

  /// In `group`, to which this rank belongs: the `own` of its p-th rank to every rank's `all`, at
  /// p * part_bytes. `own` may be its place in `all`.
  virtual void all_gather(const plan::RankGroup& group,
                          void* all,
                          const void* own,
                          std::int64_t part_bytes) = 0;
  /// Among all ranks.
  void all_gather(void* all, const void* own, std::int64_t part_bytes) {
    all_gather(plan::RankGroup{.count = world()}, all, own, part_bytes);
  }
  /// Part `grid.part_of(r)` of `from` goes to rank r, part r of `to` comes from rank r.
  virtual void all_to_all(const plan::RankGrid& grid,
                          void* to,
                          const void* from,
                          std::int64_t part_bytes) = 0;
  /// `data` of rank `root` to that of every rank.
  virtual void broadcast(int root, void* data, std::int64_t bytes) = 0;
  /// Which rank is gone, as far as it is known without an exchange; nullopt: none. Any thread may
  /// ask.
  [[nodiscard]] virtual std::optional<std::string> lost() const { return std::nullopt; }
  /// Something waits for that rank: the others are told, and this process has a limited time to
  /// end.
  virtual void tell_loss() const {}
};

/// Whether `own` is true on every rank: the same answer on all.
[[nodiscard]] bool on_all_ranks(Communicator& ranks, bool own);

/// Which rank is gone, for somebody who was stopped by that and may learn of it later; nullopt: not
/// known within `patience`.
[[nodiscard]] std::optional<std::string> lost_within(const Communicator& ranks,
                                                     std::chrono::milliseconds patience);

/// Two ways between the same ranks. `steps` is for tasks of the streams between ranks, `control`
/// for whatever the threads that call a trainer agree upon meanwhile. nullptr: there is one rank.
struct Ranks {
  Communicator* steps = nullptr;
  Communicator* control = nullptr;
  TaskRecorder* recorder = nullptr;  ///< of this rank's tasks; may be nullptr
  [[nodiscard]] int rank() const { return control == nullptr ? 0 : control->rank(); }
  [[nodiscard]] int world() const { return control == nullptr ? 1 : control->world(); }
};

}  // namespace elixir::runtime
