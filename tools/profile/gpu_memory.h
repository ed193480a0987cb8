// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The answer to --gpu-memory: whether a step fits, by how much, and the largest batch that fits. It
// is found by capturing again, never by extrapolation.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/json.h"
#include "memory/analysis/fit.h"
#include "tools/profile/steps.h"

namespace elixir::tools {

/// Larger batch sizes are not tried.
inline constexpr std::int64_t kMostBatch = 1 << 20;

struct LargestBatchAnswer {
  std::optional<memory::LargestBatch> found;
  std::optional<program::Basis> basis;           ///< of its peak; nullopt where it has no label
  std::optional<std::int64_t> may_be_off_bytes;  ///< its peak; nullopt: nobody knows
  std::string unknown_because;                   ///< the reason when `found` is empty
};

/// Calls `progress` before each capture. If the model rejects another batch size, that is an answer
/// (`unknown_because`), not an error. `steps` must know at least one peak.
[[nodiscard]] LargestBatchAnswer find_largest_batch(
    Steps& steps,
    std::int64_t limit_bytes,
    const std::function<void(std::int64_t batch)>& progress);

/// "fits 24.0 GiB: peak allocated 8.65 GiB (exact) leaves 15.4 GiB".
[[nodiscard]] std::string fit_text(const memory::KnownPeak& peak, std::int64_t limit_bytes);
[[nodiscard]] std::string largest_text(const LargestBatchAnswer& answer);

/// The document's `gpu_memory`: {limit_bytes, compared, batch, peak_bytes, certainty,
/// may_be_off_bytes, fits, margin_bytes, largest_batch}. `peak` and `batch` are those of the step
/// in question.
[[nodiscard]] Json to_json(const memory::KnownPeak& peak,
                           std::optional<std::int64_t> batch,
                           std::int64_t limit_bytes,
                           const LargestBatchAnswer& answer);

}  // namespace elixir::tools
