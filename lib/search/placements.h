// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The plans that the optimal strategy searches. A placement packs parameters in one of a few ways.
// It keeps the first chunks wholly on the device, keeps only the parameters of the next chunks
// there, and streams the rest through blocks.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/footprint.h"
#include "search/problem.h"

namespace elixir::search {

class PlacementSpace {
 public:
  /// `problem` must outlive this object. Its budgets and guesses may change.
  explicit PlacementSpace(const Problem& problem);
  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const std::vector<Packing>& packings() const { return packings_; }
  [[nodiscard]] State state_of(const Placement& placement, std::size_t chunk) const;
  [[nodiscard]] Evaluated evaluate(const Placement& placement) const;
  /// Same, but the chunks of the plan lack their `parameters`, for plans that are only compared.
  [[nodiscard]] Evaluated outline(const Placement& placement) const;
  void add_names(plan::Plan& plan, const Placement& placement) const;
  /// GPU budget that a placement needs when the operators' own memory peaks at `dynamic_bytes`.
  [[nodiscard]] std::int64_t gpu_memory_of(const Placement& placement,
                                           std::int64_t dynamic_bytes) const;
  /// Peak of operators' storages under a gradient window, when all gradients go to the host.
  [[nodiscard]] std::int64_t dynamic_bytes_of(const Placement& base,
                                              std::int64_t window_bytes) const;
  /// Bytes of the plan's buffers; on the device the model's buffers too.
  [[nodiscard]] std::int64_t device_bytes(const Placement& placement) const;
  [[nodiscard]] std::int64_t host_bytes(const Placement& placement) const;
  /// The number of cache blocks that the plan gets: what the placement says, within what works.
  [[nodiscard]] std::int64_t blocks(const Placement& placement) const;
  /// The smallest placement: everything streamed, with one block or as few as work, in the packing
  /// that needs the least.
  [[nodiscard]] Placement smallest() const;
  [[nodiscard]] std::int64_t dynamic_bytes() const { return dynamic_bytes_; }
  /// How many chunks of a packing may be on the device with their optimizer state.
  [[nodiscard]] std::size_t most_resident(std::size_t packing) const;
  /// Whether optimizer state on the host can be worth sending through the device.
  [[nodiscard]] bool may_stream_updates() const { return trains_ && problem_.on_cuda(); }
  /// Whether moments of chunks on the host can be worth making later.
  [[nodiscard]] bool may_make_moments_late() const {
    return may_stream_updates() && problem_.request().clip_gradients;
  }
  /// The values of Plan::kept_gradients that can be worth trying.
  [[nodiscard]] std::vector<int> kept_gradients() const;

 private:
  /// With homes, and where and when they are updated.
  [[nodiscard]] std::vector<plan::Chunk> placed_chunks(const Placement& placement) const;
  void add_packing(Layout layout, std::int64_t capacity_bytes);
  static bool same_chunks(const Packing& a, const Packing& b);
  /// Excludes the largest chunks from the cache, as long as that makes the smallest plan smaller.
  void find_outliers(std::size_t index);
  void make_packings();
  [[nodiscard]] std::string describe(const plan::Plan& plan) const;

  static constexpr std::size_t kMostOutliers = 8;

  const Problem& problem_;
  bool trains_ = true;
  ArenaBytes fixed_bytes_;  ///< of tensors that are where they are under every placement
  std::int64_t dynamic_bytes_ = 0;
  std::vector<Packing> packings_;
  std::vector<Footprint> footprints_;  ///< by packing
};

/// A member of the chain. The chain starts with the smallest plan and makes one more chunk resident
/// at a time, from least device and most host memory to the reverse.
struct ChainMember {
  Placement placement;
  std::int64_t gpu_memory_bytes = 0, host_bytes = 0;
};
[[nodiscard]] std::vector<ChainMember> chain_of(const PlacementSpace& space);

/// The member that needs the least device memory under the host budget.
[[nodiscard]] std::optional<ChainMember> least_device(const std::vector<ChainMember>& chain,
                                                      std::int64_t host_budget_bytes);
/// The member that needs the least host memory under the GPU budget.
[[nodiscard]] std::optional<ChainMember> least_host(const std::vector<ChainMember>& chain,
                                                    std::int64_t gpu_budget_bytes);

}  // namespace elixir::search
