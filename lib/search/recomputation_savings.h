// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What recomputation can save, before there is a plan: bytes that need not be kept for backward,
// the time that this costs, and the step's peak. The choices are what `elixir-search --recompute`
// offers, and points of the frontier between them (edit/frontier.h).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "edit/activations.h"
#include "hardware/hardware_profile.h"
#include "program/program.h"

namespace elixir::search {

/// One choice, read off the program with its edit.
struct RecomputationPoint {
  edit::Recompute choice = edit::Recompute::kNone;
  std::int64_t kept_bytes = 0;               ///< of activations, from forward to backward
  std::optional<std::int64_t> recompute_ns;  ///< modelled; nullopt without hardware
  std::int64_t peak_allocated_bytes = 0;
};

struct RecomputationSavings {
  std::int64_t blocks = 0;                   ///< nothing else is recomputed
  std::string hardware;                      ///< whose figures the times rest on; empty: none
  std::optional<std::int64_t> operators_ns;  ///< all calls of a step, modelled the same way
  RecomputationPoint nothing;                ///< everything is kept
  /// Choices that keep less than everything, from most to fewest bytes. The last one keeps the
  /// fewest bytes possible. Without hardware there are no points in between, because finding them
  /// needs times.
  std::vector<RecomputationPoint> points;
};

/// `hardware` may be null: then no time is known. `peak_of` gives the peak of an edited program; it
/// is called on several threads. All programs have the lifetimes of a replay, so that their peaks
/// can be compared.
[[nodiscard]] RecomputationSavings recomputation_savings(
    const program::Program& program,
    const hardware::HardwareProfile* hardware,
    const std::function<std::int64_t(const program::Program&)>& peak_of);

}  // namespace elixir::search
