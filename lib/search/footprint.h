// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the buffers of a placement take. The search asks this for tens of thousands of placements,
// so it is read from sums over the chunks of a packing, without making a plan.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace elixir::search {

/// Which parts of a chunk are at home on the device: everything, only parameters, or nothing.
enum class State : std::uint8_t { kResident, kStreamedOptimizer, kStreamed };
inline constexpr std::size_t kStateCount = 3;

void set_homes(plan::Chunk& chunk, State state);

/// One way of packing, as a plan without homes. Marks the chunks that are too large to go through
/// the cache.
struct Packing {
  std::vector<plan::Chunk> chunks;  ///< without `parameters`: names take long to copy
  std::vector<std::vector<plan::ChunkParameter>> names;  ///< by chunk: its `parameters`
  std::vector<plan::Place> places;                       ///< by parameter
  std::vector<bool> trained;
  std::vector<bool> outlier;
  std::int64_t capacity_bytes = 0;
};

inline constexpr int kUpdateShares = 32;

struct Placement {
  std::size_t packing = 0;
  std::size_t resident = 0;            ///< number of chunks, from the front
  std::size_t streamed_optimizer = 0;  ///< number of chunks after them
  std::int64_t blocks = 0;
  std::int64_t gradient_window_bytes = 0;
  /// So many of every kUpdateShares chunks with optimizer state on the host are updated on the
  /// device.
  int streamed_updates = 0;
  /// Chunks with optimizer state and gradients on the host are cut into kUpdateShares parts. So
  /// many parts, from the front, make their moments late, because backward needs the place of their
  /// gradients last.
  int late_moments = 0;
  /// Plan::kept_gradients, if any moments are made late.
  int kept_gradients = 1;
  [[nodiscard]] int kept_gradients_in_plan() const { return late_moments > 0 ? kept_gradients : 1; }
  auto operator<=>(const Placement&) const = default;
};

/// Whether the chunk goes through the cache when it is at home on the host. A private chunk always
/// has a place on the device for the whole step.
[[nodiscard]] bool through_cache(const Packing& packing, std::size_t chunk);

struct ArenaBytes {
  std::int64_t device = 0, host = 0;
};

/// The buffers of one chunk in each state.
struct ChunkBytes {
  std::array<ArenaBytes, kStateCount> own;  ///< by State
  /// On the host, while only the optimizer is streamed. Chunks share it: the largest counts.
  std::int64_t staging = 0;
  /// Where gradients land that are added up on the host. Chunks take turns.
  std::int64_t landing = 0;
  /// Gradients in memory that chunks share, which is not counted in `own`; 0: there is none.
  std::int64_t shared_gradients = 0;
};
/// How many buffers chunks share.
struct SharedBuffers {
  std::int32_t gradient_blocks = 0;         ///< of public chunks
  std::array<std::int32_t, 2> gradients{};  ///< by home, at most
};
/// `blank` is a plan without chunks.
[[nodiscard]] std::vector<ChunkBytes> chunk_bytes(const Packing& packing, const plan::Plan& blank);

class Footprint {
 public:
  /// `use_sets`: what Problem has; `blank` is a plan without chunks.
  Footprint(const Packing& packing,
            const plan::Plan& blank,
            const SharedBuffers& shared,
            const std::vector<ChunkBytes>& chunks,
            const std::vector<std::vector<std::int32_t>>& use_sets);

  /// All buffers that follow from the plan alone.
  [[nodiscard]] ArenaBytes bytes(const Placement& placement) const;
  /// As Problem::set_cache() sets them.
  [[nodiscard]] std::int64_t blocks(const Placement& placement) const;
  [[nodiscard]] std::int64_t block_bytes(const Placement& placement) const;
  /// Elements of a piece of optimizer state that goes through the device; 0: none does.
  [[nodiscard]] std::int64_t update_piece_elements(const Placement& placement) const;

 private:
  /// The chunks from some position on, when all of them are at home on the host.
  struct Tail {
    std::int64_t cached = 0;         ///< number of chunks that go through the cache
    std::int64_t largest_bytes = 0;  ///< the largest chunk of them
    std::int64_t fewest_blocks = 0;  ///< the most of them that one call uses
    std::int64_t staging = 0;        ///< staging of the other chunks
    std::int64_t landing = 0;        ///< buffers for all
  };
  void add_tails(const Packing& packing,
                 const std::vector<ChunkBytes>& chunks,
                 const std::vector<std::vector<std::int32_t>>& use_sets);
  void add_reductions(const Packing& packing,
                      const plan::Plan& blank,
                      std::int32_t gradient_blocks);
  /// The chunks that need blocks: all, where a rank has only shards.
  [[nodiscard]] const Tail& cached(const Placement& placement) const;
  /// Number of chunks with parameters kept on the device by choice.
  [[nodiscard]] std::size_t held(const Placement& placement) const;

  // Sums over the first n chunks.
  std::vector<ArenaBytes> resident_, streamed_optimizer_, rest_;
  std::vector<std::int64_t> staging_;  ///< by chunk
  std::int64_t piece_elements_ = 0, pieces_bytes_ = 0;
  // With several ranks: where gradients are collected and added up, and pass on their way to the
  // host.
  bool several_ranks_ = false, is_sharded_ = false;
  std::int64_t reduction_bytes_ = 0, reduced_staging_bytes_ = 0;
  std::size_t trained_end_ = 0;  ///< chunks from here on are not trained
  ArenaBytes shared_gradients_;
  std::vector<Tail> tails_;  ///< by position of the first chunk
};

}  // namespace elixir::search
