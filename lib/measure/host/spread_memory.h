// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Host memory as a training has it: pieces that lie far apart in one large arena, page-locked where
// there is a GPU. Machines are often virtual: neighbouring gigabytes may then belong to one memory
// controller of several, without saying so. On one virtual machine AdamW over 8 GiB was a fifth
// slower than over the 32 GiB that a training has (docs/metrics.md).
//
// Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/host_arena.h"
#include "kernels/thread_pool.h"

namespace elixir::measure {

class SpreadMemory {
 public:
  /// Some pieces, free for others when this is destroyed.
  class Pieces {
   public:
    Pieces(Pieces&& other) noexcept = default;
    Pieces& operator=(Pieces&&) = delete;
    [[nodiscard]] std::size_t count() const { return starts_.size(); }
    [[nodiscard]] char* operator[](std::size_t i) const { return starts_[i]; }

   private:
    friend class SpreadMemory;
    Pieces() = default;
    std::vector<char*> starts_;
    std::shared_ptr<void> user_;
  };

  /// The arena of `bytes` is made when the first piece is taken, by `pool`. With `lock` it is
  /// page-locked; where the system refuses, it is ordinary memory.
  SpreadMemory(std::size_t bytes, kernels::ThreadPool& pool, const kernels::PageLock* lock);

  /// Pieces of `piece_bytes` each, at most kStripes, evenly spread. What they hold is unspecified.
  /// Throws kOutOfMemory when they do not fit beside the pieces that others hold.
  [[nodiscard]] Pieces take(std::size_t count, std::size_t piece_bytes);
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// The longest piece.
  [[nodiscard]] std::size_t stripe_bytes() const;
  /// Whether pieces are page-locked.
  [[nodiscard]] bool locked();

  static constexpr std::size_t kStripes = 8;

 private:
  kernels::HostArena& arena();

  std::size_t bytes_;
  kernels::ThreadPool& pool_;
  const kernels::PageLock* lock_;
  std::optional<kernels::HostArena> arena_;
  std::size_t used_bytes_ = 0;  ///< of each stripe
  std::weak_ptr<void> users_;   ///< expired: nobody holds a piece
};

/// How large it should be for a machine on which measurements may use `memory_bytes`: a quarter of
/// that, and no more than a training of a large model takes.
[[nodiscard]] std::size_t spread_memory_bytes(std::int64_t memory_bytes);

}  // namespace elixir::measure
