// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The simulated allocator against a recorded one: recorded on a GPU, a trace tests the simulator
// without one.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "memory/recorded/trace.h"

namespace elixir::memory {

/// Where simulator and record part.
struct ReplayDifference {
  std::size_t event = 0;  ///< position in RecordedTrace::events; their number: the final segments
  int line = 0;           ///< of the document; 0 when there is none
  std::string expected;   ///< as in the document
  std::string simulated;
};

struct ReplayResult {
  std::optional<ReplayDifference> difference;  ///< the first; the replay ends there
  AllocatorStatistics statistics;
  std::int64_t compared_device_events = 0;
};

/// Feeds the trace's requests to the simulator under `config` and compares what it does on the
/// device, event by event, with the record: kind, size, stream and address; the addresses of
/// allocations and the final segments where the trace has them; the measured peaks. New segments
/// get their recorded addresses, since the device's choice is not the allocator's.
///
/// A record does not say which frees a request found completed and which it waited for when it ran
/// out of memory: where streams share memory that runs full, a difference may be only that.
[[nodiscard]] ReplayResult replay(const RecordedTrace& trace, const AllocatorConfig& config);
/// Under the configuration of the record.
[[nodiscard]] ReplayResult replay(const RecordedTrace& trace);

}  // namespace elixir::memory
