// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Hand-made plans for tests, without the search.

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "plan/plan.h"
#include "program/lifetimes.h"

namespace elixir::fakes {

struct LayoutOptions {
  std::int64_t chunk_bytes =
      1;  ///< a parameter that does not fit opens a chunk; larger ones have one of their own
  plan::Home parameters = plan::Home::kDevice;
  plan::Home gradients = plan::Home::kDevice;
  plan::Home optimizer = plan::Home::kDevice;
  std::int64_t blocks = 0;
  std::int64_t gradient_window_bytes = 0;
  int accumulation_steps = 1;
  int world = 1, replicas = 1;
  plan::Reduce reduced_by = plan::Reduce::kOrdered;
  plan::ReduceDType reduce = plan::ReduceDType::kFloat32;
  plan::ReducePer reduce_per = plan::ReducePer::kMicroBatch;
};

/// Parameters in order of first use. Frozen and tied ones are separate.
inline plan::Plan lay_out(const program::Program& program, const LayoutOptions& options) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  plan::Plan result;
  result.accumulation_steps = options.accumulation_steps;
  result.world = result.ranks_per_node = options.world;
  result.replicas = options.replicas;
  result.reduce = options.reduced_by;
  result.reduce_dtype = options.reduce;
  result.reduce_per = options.reduce_per;
  struct Open {
    std::int64_t chunk = -1;
    std::int64_t capacity_bytes = 0;
  };
  Open open[2];  // by whether trained
  for (const std::int32_t position : program::order_of_first_use(program, lifetimes)) {
    const program::Parameter& parameter = program.parameters[position];
    const std::int64_t bytes = round_up(parameter.tensor.bytes(), plan::kAlignmentBytes);
    const bool tied = parameter.names.size() > 1;
    Open& here = open[parameter.gradient ? 1 : 0];
    const bool fits =
        here.chunk >= 0 && result.chunks[here.chunk].bytes + bytes <= here.capacity_bytes && !tied;
    if (!fits) {
      plan::Chunk chunk;
      chunk.dtype = parameter.tensor.dtype;
      chunk.kind = tied ? plan::Chunk::Kind::kPrivate : plan::Chunk::Kind::kPublic;
      chunk.parameter_home = options.parameters;
      chunk.gradient_home = options.gradients;
      chunk.optimizer_home = options.optimizer;
      chunk.gradient_dtype = plan::summed_dtype(result, chunk.dtype);
      result.chunks.push_back(chunk);
      const auto id = static_cast<std::int64_t>(result.chunks.size()) - 1;
      if (!tied) here = {id, options.chunk_bytes};
    }
    plan::Chunk& chunk = tied || !fits ? result.chunks.back() : result.chunks[here.chunk];
    // The end of a shard may be at any multiple of the unit.
    const std::int64_t unit_bytes = plan::kPieceUnitElements * program::element_bytes(chunk.dtype);
    const bool is_cut = chunk.bytes % unit_bytes + std::min(bytes, unit_bytes) > unit_bytes;
    if (options.world > 1 && is_cut) chunk.bytes = round_up(chunk.bytes, unit_bytes);
    chunk.parameters.push_back({.name = parameter.name, .offset_bytes = chunk.bytes});
    chunk.bytes += bytes;
  }
  for (plan::Chunk& chunk : result.chunks) {
    const std::int64_t unit_bytes = plan::kPieceUnitElements * program::element_bytes(chunk.dtype);
    if (options.world > 1) chunk.bytes = round_up(chunk.bytes, options.world * unit_bytes);
    if (chunk.kind == plan::Chunk::Kind::kPrivate) continue;
    result.cache.block_bytes = std::max(result.cache.block_bytes, chunk.bytes);
  }
  result.cache.blocks = options.blocks;
  if (options.blocks == 0) result.cache.block_bytes = 0;
  result.cache.gradient_window_bytes = options.gradient_window_bytes;
  return result;
}

}  // namespace elixir::fakes
