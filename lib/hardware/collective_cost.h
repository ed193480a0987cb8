// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How long GPUs take to exchange data, from what was measured on a machine. GPUs of one machine
// that reach each other's memory gather and send parts by copies (runtime/ranks/peer_copies.h);
// else NCCL does it. Another number of GPUs than the measured one, and other machines over a
// network, are modelled.

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/hardware_profile.h"

namespace elixir::hardware {

/// Nobody has measured a network. 400 Gbit/s for each GPU is common.
inline constexpr std::int64_t kAssumedNetworkBytesPerS = 50'000'000'000;

/// GPUs that train together, how many of them share a machine, and how many replicas of everything
/// they hold (plan/rank_grid.h).
struct Ranks {
  int world = 1;
  int per_node = 1;
  int replicas = 1;
  /// The rate of each GPU to other machines, in one direction.
  double network_bytes_per_s = static_cast<double>(kAssumedNetworkBytesPerS);
};

class CollectiveCost {
 public:
  /// Nothing can be asked for when `profile` has no all-gather.
  CollectiveCost(const HardwareProfile& profile, const Ranks& ranks);

  [[nodiscard]] bool known() const { return !points_.empty(); }
  /// Whether exchanges are copies, which take no multiprocessor from operators.
  [[nodiscard]] bool copies() const { return copy_bytes_per_s_ > 0; }
  /// How the times are known: "measured", or what they are modelled from.
  [[nodiscard]] std::string basis() const;

  /// Time until every rank has `bytes`. Before, each rank of a replica had one part of them.
  [[nodiscard]] double all_gather_ns(std::int64_t bytes) const;
  /// The same among the ranks that hold the same shard.
  [[nodiscard]] double share_parts_ns(std::int64_t bytes) const;
  /// Every rank has `bytes`, and sends each other rank one part of the world's. Taken from the
  /// all-gather: in a machine a GPU sends and receives as much.
  [[nodiscard]] double all_to_all_ns(std::int64_t bytes) const;
  /// Every rank has `bytes`, and ends with its shard of their sum, through NCCL. Taken from its
  /// all-gather: a ring moves as much; and the sum over replicas as two of a shard.
  [[nodiscard]] double reduce_scatter_ns(std::int64_t bytes) const;
  /// Every rank ends with `bytes` that one had. By copies all send as many to all; through NCCL an
  /// upper bound: its all-gather of as many.
  [[nodiscard]] double broadcast_ns(std::int64_t bytes) const;

 private:
  [[nodiscard]] std::string basis_of_one_replica() const;
  struct Point {
    double bytes = 0, ns = 0;
  };
  /// The time of an all-gather of `bytes` over the GPUs that were measured.
  [[nodiscard]] double measured_ns(double bytes) const;
  /// Ranks that exchange something among themselves.
  struct Group {
    int count, per_node;
  };
  [[nodiscard]] double all_gather_ns(std::int64_t bytes, const Group& group) const;
  /// Over a network, from NCCL's all-gathers in a machine.
  [[nodiscard]] double gathered_ns(double bytes, const Group& group) const;
  /// In a machine, for what comes in at one GPU: through NCCL, and by copies.
  [[nodiscard]] double local_ns(double bytes_in) const;
  [[nodiscard]] double copied_ns(double bytes_in, int count) const;

  Ranks ranks_;
  double copy_bytes_per_s_ = 0, copy_latency_ns_ = 0;
  int measured_gpus_ = 0;
  std::vector<Point> points_;  ///< ascending bytes
};

}  // namespace elixir::hardware
