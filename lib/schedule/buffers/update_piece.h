// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A piece of optimizer state on its way through the device: where its arrays are in a buffer of
// role kUpdatePiece. All pieces are cut and laid out alike, whatever chunk they are of.

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace elixir::schedule {

/// One comes in, one is updated, one goes back.
inline constexpr int kUpdatePieces = 3;

/// Bytes from the start of the buffer.
struct UpdatePieceLayout {
  std::int64_t master = 0, moment1 = 0, moment2 = 0, gradients = 0, parameters = 0;
  std::int64_t bytes = 0;
};

/// `…_bytes` are bytes of one element. Masters have room for the separate form.
[[nodiscard]] constexpr UpdatePieceLayout update_piece_layout(std::int64_t elements,
                                                              std::int64_t moment_bytes,
                                                              std::int64_t gradient_bytes,
                                                              std::int64_t parameter_bytes) {
  constexpr std::int64_t kMaster = 4;  // fp32
  UpdatePieceLayout layout;
  layout.moment1 = kMaster * elements;
  layout.moment2 = layout.moment1 + moment_bytes * elements;
  layout.gradients = layout.moment2 + moment_bytes * elements;
  layout.parameters = layout.gradients + gradient_bytes * elements;
  layout.bytes = layout.parameters + parameter_bytes * elements;
  return layout;
}

/// What of a chunk goes with its pieces, in bytes of an element.
[[nodiscard]] inline std::int64_t piece_gradient_bytes(const plan::Chunk& chunk) {
  return chunk.gradient_home == plan::Home::kHost ? program::element_bytes(chunk.gradient_dtype)
                                                  : 0;
}
/// In fp32 the master holds the parameters.
[[nodiscard]] inline std::int64_t piece_parameter_bytes(const plan::Chunk& chunk) {
  const bool own =
      chunk.parameter_home == plan::Home::kHost && chunk.dtype != program::DType::kFloat32;
  return own ? program::element_bytes(chunk.dtype) : 0;
}
/// Master and both moments.
[[nodiscard]] inline std::int64_t piece_state_bytes(const plan::Plan& plan,
                                                    const plan::Chunk& chunk) {
  return plan::master_bytes(plan, chunk) + 2 * program::element_bytes(plan.moment_dtype);
}
/// All that a piece brings to the device. Parameters that are the upper halves of masters too.
[[nodiscard]] inline std::int64_t piece_loaded_bytes(const plan::Plan& plan,
                                                     const plan::Chunk& chunk) {
  return piece_state_bytes(plan, chunk) + piece_gradient_bytes(chunk) +
         (plan::splits_master(plan, chunk) ? piece_parameter_bytes(chunk) : 0);
}
/// All that goes back: without moments that are made later.
[[nodiscard]] inline std::int64_t piece_stored_bytes(const plan::Plan& plan,
                                                     const plan::Chunk& chunk) {
  return (chunk.late_moments ? plan::master_bytes(plan, chunk) : piece_state_bytes(plan, chunk)) +
         piece_parameter_bytes(chunk);
}

/// What AdamW touches of an element, on the device or the host: master and moments are read and
/// written, the gradient is read, parameters beside the master are written, and read too where they
/// are its upper halves.
[[nodiscard]] inline std::int64_t update_bytes(const plan::Plan& plan, const plan::Chunk& chunk) {
  const std::int64_t parameter =
      chunk.dtype == program::DType::kFloat32 ? 0 : program::element_bytes(chunk.dtype);
  return 2 * piece_state_bytes(plan, chunk) + program::element_bytes(chunk.gradient_dtype) +
         (plan::splits_master(plan, chunk) ? 2 : 1) * parameter;
}
/// The same where it leaves the moments to later: they are only read.
[[nodiscard]] inline std::int64_t parameter_update_bytes(const plan::Plan& plan,
                                                         const plan::Chunk& chunk) {
  return update_bytes(plan, chunk) - 2 * program::element_bytes(plan.moment_dtype);
}
/// What making the moments touches.
[[nodiscard]] inline std::int64_t moment_update_bytes(const plan::Plan& plan,
                                                      const plan::Chunk& chunk) {
  return 4 * program::element_bytes(plan.moment_dtype) +
         program::element_bytes(chunk.gradient_dtype);
}

/// Time of the pass over parameters and of the pass over moments in an average step, as shares of
/// passes that read one gradient. When moments are made every second step, the passes over moments
/// read two gradients, and so do the passes over parameters of the other steps.
struct LateShares {
  double parameters = 1, moments = 1;
};
[[nodiscard]] inline LateShares late_shares(const plan::Plan& plan, const plan::Chunk& chunk) {
  if (plan::moment_steps(plan, chunk) == 1) return {};
  const auto gradient = static_cast<double>(program::element_bytes(chunk.gradient_dtype));
  return {1 + gradient / 2 / static_cast<double>(parameter_update_bytes(plan, chunk)),
          0.5 + gradient / 2 / static_cast<double>(moment_update_bytes(plan, chunk))};
}

/// With room for the pieces of any of these chunks.
[[nodiscard]] UpdatePieceLayout update_piece_layout(std::int64_t elements,
                                                    program::DType moments,
                                                    const std::vector<plan::Chunk>& chunks);
/// The layout of a plan's pieces. No bytes when there are none.
[[nodiscard]] UpdatePieceLayout update_piece_layout(const plan::Plan& plan);

}  // namespace elixir::schedule
