// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/least_gpus.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"

namespace elixir::search {

LeastGpus least_gpus(const program::Program& program,
                     const hardware::HardwareProfile& hardware,
                     const Request& request) {
  LeastGpus least;
  Request now = request;
  for (now.gpus = 1;; now.gpus = std::min(2 * now.gpus, request.gpus)) {
    // Fewer than a machine has are in one.
    if (request.gpus_per_node) {
      const int per_node = *request.gpus_per_node;
      // More fill machines.
      const auto filled = static_cast<int>(round_up(now.gpus, per_node));
      if (now.gpus > per_node && filled <= request.gpus) now.gpus = filled;
      now.gpus_per_node = std::min(per_node, now.gpus);
    }
    if (request.on_progress) {
      now.on_progress = [&](double part, const std::string& what) {
        request.on_progress(part,
                            fmt::format("{} GPU{}: {}", now.gpus, now.gpus == 1 ? "" : "s", what));
      };
    }
    Outcome outcome = search(program, hardware, now);
    auto* no = std::get_if<Infeasible>(&outcome);
    if (no == nullptr || now.gpus >= request.gpus) {
      least.gpus = now.gpus;
      least.outcome = std::move(outcome);
      return least;
    }
    least.fewer.push_back({now.gpus, std::move(*no)});
  }
}

}  // namespace elixir::search
