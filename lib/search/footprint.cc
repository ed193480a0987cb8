// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/footprint.h"

#include <algorithm>

#include "core/allocation_unit.h"
#include "core/error.h"
#include "core/units.h"
#include "schedule/buffers/buffers.h"
#include "schedule/buffers/update_piece.h"

namespace elixir::search {
namespace {

using plan::Chunk;
using plan::Home;

ArenaBytes sum(const ArenaBytes& a, const ArenaBytes& b) {
  return {.device = a.device + b.device, .host = a.host + b.host};
}

ArenaBytes difference(const ArenaBytes& a, const ArenaBytes& b) {
  return {.device = a.device - b.device, .host = a.host - b.host};
}

}  // namespace

void set_homes(Chunk& chunk, State state) {
  chunk.parameter_home = state == State::kStreamed ? Home::kHost : Home::kDevice;
  chunk.gradient_home = chunk.optimizer_home =
      state == State::kResident ? Home::kDevice : Home::kHost;
}

bool through_cache(const Packing& packing, std::size_t chunk) {
  return !packing.outlier[chunk] && packing.chunks[chunk].kind == Chunk::Kind::kPublic;
}

std::vector<ChunkBytes> chunk_bytes(const Packing& packing, const plan::Plan& blank) {
  std::vector<ChunkBytes> result(packing.chunks.size());
  plan::Plan alone = blank;
  alone.chunks.resize(1);
  for (std::size_t c = 0; c < result.size(); ++c) {
    const Chunk& of = packing.chunks[c];
    alone.chunks.front() = {
        .bytes = of.bytes, .dtype = of.dtype, .kind = of.kind, .gradient_dtype = of.gradient_dtype};
    for (std::size_t s = 0; s < kStateCount; ++s) {
      set_homes(alone.chunks.front(), static_cast<State>(s));
      const schedule::StepBuffers buffers = schedule::chunk_buffers(alone,
                                                                    {packing.trained[c]},
                                                                    blank.accumulation_steps,
                                                                    {.of_chunk = {-1}},
                                                                    {.of_chunk = {-1}},
                                                                    /*lent=*/{});
      ArenaBytes& own = result[c].own[s];
      for (const schedule::Buffer& buffer : buffers.all) {
        const std::int64_t bytes = rounded_allocation(buffer.bytes);
        const bool shared = buffer.role == schedule::BufferRole::kExchange ||
                            buffer.role == schedule::BufferRole::kReducedStaging;
        if (shared) continue;  // of all chunks
        if (buffer.role == schedule::BufferRole::kGradients && schedule::shares_gradients(blank)) {
          result[c].shared_gradients = bytes;
          continue;
        }
        if (buffer.role == schedule::BufferRole::kHostStaging) {
          result[c].staging += bytes;
        } else if (buffer.role == schedule::BufferRole::kGradientLanding) {
          result[c].landing = buffer.bytes;
        } else {
          (buffer.arena == schedule::Arena::kDevice ? own.device : own.host) += bytes;
        }
        // Sums and one largest staging are enough only as long as this holds.
        require(buffer.role != schedule::BufferRole::kDeviceStaging &&
                    (buffer.role != schedule::BufferRole::kHostStaging ||
                     static_cast<State>(s) == State::kStreamedOptimizer),
                "a placement has staging that the search does not count");
      }
    }
  }
  return result;
}

Footprint::Footprint(const Packing& packing,
                     const plan::Plan& blank,
                     const SharedBuffers& shared,
                     const std::vector<ChunkBytes>& chunks,
                     const std::vector<std::vector<std::int32_t>>& use_sets)
    : resident_(1),
      streamed_optimizer_(1),
      rest_(1),
      several_ranks_(blank.world > 1),
      is_sharded_(plan::grid_of(blank).shards() > 1) {
  const auto add = [](std::vector<ArenaBytes>& sums, const ChunkBytes& chunk, State state) {
    sums.push_back(sum(sums.back(), chunk.own[static_cast<std::size_t>(state)]));
  };
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const bool cached = through_cache(packing, c);
    add(resident_, chunks[c], State::kResident);
    add(streamed_optimizer_, chunks[c], State::kStreamedOptimizer);
    add(rest_, chunks[c], cached ? State::kStreamed : State::kStreamedOptimizer);
    staging_.push_back(chunks[c].staging);
  }
  add_tails(packing, chunks, use_sets);
  // Large enough for the links' full rate; larger where a step would have thousands of pieces; no
  // larger than the largest chunk.
  constexpr std::int64_t kFewestElements = 4 << 20, kMostElements = 32 << 20, kPieces = 2048;
  std::int64_t largest = 0, total = 0;
  for (const Chunk& chunk : packing.chunks) {
    const std::int64_t elements = plan::shard_elements(blank, chunk);
    largest = std::max(largest, elements);
    total += elements;
  }
  piece_elements_ =
      round_up(std::min(std::clamp(total / kPieces, kFewestElements, kMostElements), largest),
               plan::kPieceUnitElements);
  pieces_bytes_ =
      schedule::kUpdatePieces *
      rounded_allocation(
          schedule::update_piece_layout(piece_elements_, blank.moment_dtype, packing.chunks).bytes);
  if (several_ranks_) add_reductions(packing, blank, shared.gradient_blocks);
  std::int64_t largest_gradients = 0;
  for (const ChunkBytes& chunk : chunks) {
    largest_gradients = std::max(largest_gradients, chunk.shared_gradients);
  }
  shared_gradients_ = {
      .device = shared.gradients[static_cast<std::size_t>(Home::kDevice)] * largest_gradients,
      .host = shared.gradients[static_cast<std::size_t>(Home::kHost)] * largest_gradients};
}

void Footprint::add_reductions(const Packing& packing,
                               const plan::Plan& blank,
                               std::int32_t gradient_blocks) {
  std::int64_t largest_public = 0, largest_received = 0, largest_reduced = 0;
  for (std::size_t c = 0; c < packing.chunks.size(); ++c) {
    const Chunk& chunk = packing.chunks[c];
    if (!packing.trained[c]) continue;
    trained_end_ = c + 1;
    largest_received = std::max(largest_received, plan::received_bytes(blank, chunk));
    if (chunk.kind == Chunk::Kind::kPublic) {
      largest_public = std::max(largest_public, plan::exchanged_bytes(blank, chunk));
    }
    largest_reduced =
        std::max(largest_reduced, plan::shard_bytes(blank, chunk, chunk.gradient_dtype));
  }
  reduction_bytes_ =
      gradient_blocks * rounded_allocation(largest_public) + rounded_allocation(largest_received);
  reduced_staging_bytes_ = schedule::kReducedStagingBuffers * rounded_allocation(largest_reduced);
}

const Footprint::Tail& Footprint::cached(const Placement& placement) const {
  return tails_[is_sharded_ ? 0 : held(placement)];
}

void Footprint::add_tails(const Packing& packing,
                          const std::vector<ChunkBytes>& chunks,
                          const std::vector<std::vector<std::int32_t>>& use_sets) {
  tails_.resize(chunks.size() + 1);
  std::vector<std::int32_t> used;
  for (const std::vector<std::int32_t>& parameters : use_sets) {
    used.clear();
    for (const std::int32_t parameter : parameters) {
      const std::int32_t chunk = packing.places[parameter].chunk;
      if (through_cache(packing, chunk)) used.push_back(chunk);
    }
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (std::size_t i = 0; i < used.size(); ++i) {
      Tail& tail = tails_[used[i]];
      tail.fewest_blocks = std::max(tail.fewest_blocks, static_cast<std::int64_t>(used.size() - i));
    }
  }
  std::int64_t landed = 0, largest_landing = 0;
  for (std::size_t c = chunks.size(); c-- > 0;) {
    Tail& tail = tails_[c];
    const Tail& next = tails_[c + 1];
    const bool cached = through_cache(packing, c);
    tail.cached = next.cached + (cached ? 1 : 0);
    tail.largest_bytes = std::max(next.largest_bytes, cached ? packing.chunks[c].bytes : 0);
    tail.fewest_blocks = std::max(next.fewest_blocks, tail.fewest_blocks);
    tail.staging = std::max(next.staging, cached ? 0 : chunks[c].staging);
    landed += chunks[c].landing;
    largest_landing = std::max(largest_landing, chunks[c].landing);
    tail.landing =
        schedule::landing_buffers(landed, largest_landing) * rounded_allocation(largest_landing);
  }
}

std::size_t Footprint::held(const Placement& placement) const {
  return std::min(placement.resident + placement.streamed_optimizer, staging_.size());
}

std::int64_t Footprint::blocks(const Placement& placement) const {
  const Tail& tail = cached(placement);
  const std::int64_t fewest = std::max(tail.fewest_blocks, std::int64_t{tail.cached > 0 ? 1 : 0});
  return std::clamp(placement.blocks, fewest, std::max(fewest, tail.cached));
}

std::int64_t Footprint::block_bytes(const Placement& placement) const {
  return cached(placement).largest_bytes;
}

std::int64_t Footprint::update_piece_elements(const Placement& placement) const {
  const bool any = placement.streamed_updates > 0 && placement.resident < staging_.size();
  return any ? piece_elements_ : 0;
}

ArenaBytes Footprint::bytes(const Placement& placement) const {
  const std::size_t first = placement.resident;
  const std::size_t second = held(placement);
  ArenaBytes bytes =
      sum(resident_[first], difference(streamed_optimizer_[second], streamed_optimizer_[first]));
  bytes = sum(bytes, difference(rest_.back(), rest_[second]));
  bytes.device += blocks(placement) * rounded_allocation(block_bytes(placement));
  bytes.device += reduction_bytes_;
  if (first < trained_end_) bytes.device += reduced_staging_bytes_;
  if (first > 0) bytes.device += shared_gradients_.device;
  if (first < staging_.size()) bytes.host += shared_gradients_.host;
  if (update_piece_elements(placement) > 0) bytes.device += pieces_bytes_;
  std::int64_t staging = tails_[second].staging;
  for (std::size_t c = first; c < second; ++c) staging = std::max(staging, staging_[c]);
  bytes.host += staging + tails_[std::min(first, staging_.size())].landing;
  return bytes;
}

}  // namespace elixir::search
