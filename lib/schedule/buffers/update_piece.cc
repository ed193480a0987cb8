// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/buffers/update_piece.h"

#include <algorithm>

namespace elixir::schedule {

using plan::Chunk;
using program::DType;

UpdatePieceLayout update_piece_layout(std::int64_t elements,
                                      DType moments,
                                      const std::vector<Chunk>& chunks) {
  std::int64_t gradient_bytes = 0, parameter_bytes = 0;
  for (const Chunk& chunk : chunks) {
    gradient_bytes = std::max(gradient_bytes, program::element_bytes(chunk.gradient_dtype));
    if (chunk.dtype == DType::kFloat32) continue;
    parameter_bytes = std::max(parameter_bytes, program::element_bytes(chunk.dtype));
  }
  return update_piece_layout(
      elements, program::element_bytes(moments), gradient_bytes, parameter_bytes);
}

UpdatePieceLayout update_piece_layout(const plan::Plan& plan) {
  const bool any = std::any_of(plan.chunks.begin(), plan.chunks.end(), [](const Chunk& chunk) {
    return chunk.streams_update;
  });
  return update_piece_layout(
      any ? plan.cache.update_piece_elements : 0, plan.moment_dtype, plan.chunks);
}

}  // namespace elixir::schedule
