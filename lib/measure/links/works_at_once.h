// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Runs works at once, each on its own thread, and says how long a unit of each takes meanwhile. All
// figures are of the same moments: what works move together is what the machine moved.

#include <vector>

#include "measure/links/contending_work.h"

namespace elixir::measure {

/// A window lasts at least so long, and until each work has done some units.
struct Windows {
  int count = 3;
  double least_s = 0.1;
};

/// Seconds of a unit, by work and window: from the end of the last unit before the window to the
/// end of the last one in it, divided by the units between. Works are warmed up first. Rethrows the
/// first exception of a work, because a work that ended early disturbed nothing. Throws Interrupted
/// when asked to stop.
[[nodiscard]] std::vector<std::vector<double>> unit_seconds(
    const std::vector<ContendingWork*>& works, const Windows& windows);

}  // namespace elixir::measure
