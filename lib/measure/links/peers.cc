// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Copies between the memories of two GPUs.
#include <fmt/format.h>

#include "core/units.h"
#include "measure/links/gpu_links.h"
#include "measure/measurement.h"

namespace elixir::measure {
namespace {

const Registration kPeers({
    "peer-to-peer",
    "bytes per second from one GPU's memory to another's, for every ordered pair",
    "large copies by the copy engine, direct where the GPUs reach each other, events",
    2.5,
    0.8,
    [](const Bench& bench) -> std::optional<std::string> {
      if (!bench.on_cuda()) return unless_cuda(bench);
      if (bench.gpus < 2) return "this machine has one GPU";
      return std::nullopt;
    },
    [](const Bench& bench, hardware::HardwareProfile& profile) {
      const std::size_t bytes = bench.by_effort<std::size_t>(512_MiB, 128_MiB);
      const Sampling sampling = bench.by_effort(Sampling{1, 5, 10, 0.08}, Sampling{1, 3, 5, 0.01});
      std::vector<hardware::PeerRate> found;
      for (int from = 0; from < bench.gpus; ++from) {
        for (int to = 0; to < bench.gpus; ++to) {
          if (from == to) continue;
          const bool direct = gpu_peer_access(from, to);
          const char* how = direct ? "direct" : "through the host";
          found.push_back({from,
                           to,
                           direct,
                           rate_figure(static_cast<double>(bytes),
                                       gpu_peer_copy_seconds(from, to, bytes, 4, sampling),
                                       fmt::format("copies of {}, {}, events",
                                                   format_bytes(static_cast<std::int64_t>(bytes)),
                                                   how)),
                           time_figure(gpu_peer_copy_seconds(from, to, kLatencyBytes, 1, sampling),
                                       fmt::format("copy of 4 KiB, {}, events", how))});
        }
      }
      profile.links.peers = std::move(found);
    },
});

}  // namespace
}  // namespace elixir::measure
