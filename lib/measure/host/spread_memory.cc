// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/host/spread_memory.h"

#include <algorithm>

#include "core/error.h"
#include "core/units.h"
#include "measure/host/host_memory.h"

namespace elixir::measure {
namespace {

constexpr std::size_t kPageBytes = 4096;

}  // namespace

SpreadMemory::SpreadMemory(std::size_t bytes,
                           kernels::ThreadPool& pool,
                           const kernels::PageLock* lock)
    : bytes_(bytes), pool_(pool), lock_(lock) {}

SpreadMemory::Pieces SpreadMemory::take(std::size_t count, std::size_t piece_bytes) {
  require(count > 0 && count <= kStripes, "as many pieces as there are stripes");
  std::shared_ptr<void> user = users_.lock();
  if (!user) {
    user = std::make_shared<char>();
    users_ = user;
    used_bytes_ = 0;
  }
  if (piece_bytes > stripe_bytes() - std::min(used_bytes_, stripe_bytes())) {
    throw Error(ErrorCode::kOutOfMemory,
                "measurements may use {} of host memory, too little for {} pieces of {}",
                format_bytes(static_cast<std::int64_t>(bytes_)),
                count,
                format_bytes(static_cast<std::int64_t>(piece_bytes)));
  }
  Pieces pieces;
  pieces.user_ = std::move(user);
  for (std::size_t i = 0; i < count; ++i) {
    pieces.starts_.push_back(arena().data() + i * (kStripes / count) * stripe_bytes() +
                             used_bytes_);
  }
  used_bytes_ += (piece_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  return pieces;
}

std::size_t SpreadMemory::stripe_bytes() const {
  return bytes_ / kStripes / kPageBytes * kPageBytes;
}

bool SpreadMemory::locked() {
  return arena().locked();
}

kernels::HostArena& SpreadMemory::arena() {
  if (!arena_) arena_.emplace(make_host_arena(bytes_, pool_, lock_));
  return *arena_;
}

std::size_t spread_memory_bytes(std::int64_t memory_bytes) {
  constexpr std::int64_t kMost = 64_GiB, kLeast = 64_MiB;
  return static_cast<std::size_t>(std::clamp(memory_bytes / 4, kLeast, kMost));
}

}  // namespace elixir::measure
