// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Compares the simulated allocator with a recorded one. A trace recorded on a GPU can test the
// simulator on a machine without a GPU.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "memory/recorded/trace.h"

namespace elixir::memory {

/// The first difference between simulator and record.
struct TraceDifference {
  std::size_t event = 0;  ///< position in RecordedTrace::events; events.size(): the final segments
  int line = 0;           ///< of the document; 0 without one
  std::string expected;   ///< as in the document
  std::string simulated;
};

struct TraceSimulation {
  std::optional<TraceDifference> difference;  ///< the first one; the simulation stops there
  AllocatorStatistics statistics;
  std::int64_t compared_device_events = 0;
};

/// Feeds the trace's requests to the simulator under `config`, and compares event by event what it
/// does on the device with the record: kind, size, stream and address. Also compares the addresses
/// of allocations and the final segments, where the trace has them, and the measured peaks. New
/// segments get their recorded addresses, because the device chooses them, not the allocator.
///
/// Limit: when memory runs out, a record does not say which frees had completed and which the
/// allocator waited for. So where several streams share memory that runs full, a difference may
/// come from that alone.
[[nodiscard]] TraceSimulation simulate_trace(const RecordedTrace& trace,
                                             const AllocatorConfig& config);
/// Uses the configuration of the record.
[[nodiscard]] TraceSimulation simulate_trace(const RecordedTrace& trace);

}  // namespace elixir::memory
