// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which ranks hold what (docs/design/ranks.md, Replicas). There are one or more replicas of
// everything. Consecutive ranks hold a replica together, each a shard of it; so ranks of different
// replicas hold the same shards. With as many replicas as ranks, each rank has everything.

namespace elixir::plan {

/// Ranks that exchange something among themselves: `first`, `first + stride`, …
struct RankGroup {
  int first = 0, stride = 1, count = 1;

  [[nodiscard]] int rank(int position) const { return first + position * stride; }
  [[nodiscard]] int position(int rank) const { return (rank - first) / stride; }
};

struct RankGrid {
  int world = 1;
  int replicas = 1;  ///< divides `world`

  [[nodiscard]] int shards() const { return world / replicas; }
  [[nodiscard]] int shard_of(int rank) const { return rank % shards(); }
  [[nodiscard]] int replica_of(int rank) const { return rank / shards(); }
  /// Gradients are added up in `world` equal parts. A shard consists of as many parts as there are
  /// replicas, one for each rank that holds the shard.
  [[nodiscard]] int part_of(int rank) const { return shard_of(rank) * replicas + replica_of(rank); }

  [[nodiscard]] RankGroup all() const { return {.count = world}; }
  /// The ranks that hold one replica together with `rank`.
  [[nodiscard]] RankGroup same_replica(int rank) const {
    return {.first = replica_of(rank) * shards(), .count = shards()};
  }
  /// The ranks that hold the same shard as `rank`.
  [[nodiscard]] RankGroup same_shard(int rank) const {
    return {.first = shard_of(rank), .stride = shards(), .count = replicas};
  }
};

}  // namespace elixir::plan
