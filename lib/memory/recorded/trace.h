// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A recorded trace of LibTorch's CUDA caching allocator: the requests of a process, and what the
// allocator did on the device. The text format has one event per line
// (docs/formats/allocator-trace.md). `trace_simulation.h` compares the simulator with a trace.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/allocator/caching_allocator.h"

namespace elixir::memory {

struct RecordedEvent {
  enum class Kind : std::uint8_t {
    kAllocate,       ///< `a`: bytes, stream, optionally the address
    kFree,           ///< `f`: freed, block back in its pool
    kFreeRequested,  ///< `q`: freed, but still used by another stream
    kFreeCompleted,  ///< `c`: no stream uses it any longer
    kOutOfMemory,    ///< `oom`: a request of this many bytes failed
    kEmptyCache,     ///< `e`
    kDevice,         ///< `s+`, `s-`, `m+`, `m-`: what the allocator did on the device
    kPeaks,          ///< `p`: peaks since the previous `p`
  };
  Kind kind = Kind::kAllocate;
  int line = 0;                 ///< of the document, from 1; 0 without one
  std::int64_t allocation = 0;  ///< counted from 0; for kAllocate and the frees
  std::int64_t bytes = 0;       ///< bytes asked for; kAllocate, kOutOfMemory
  StreamId stream = 0;
  std::optional<Address> address;  ///< kAllocate
  DeviceEvent device;              ///< kDevice
  /// kPeaks: peak allocated, peak reserved, allocated, reserved bytes.
  std::array<std::int64_t, 4> peaks{};
};

struct RecordedTrace {
  AllocatorConfig config;
  std::int64_t device_bytes = 0;              ///< of the whole device
  std::int64_t capacity_bytes = 0;            ///< available to the process
  std::optional<std::int64_t> allowed_bytes;  ///< memory limit of the recorded run
  std::vector<RecordedEvent> events;
  /// Segments with their blocks after the last event, in address order; nullopt when they were not
  /// recorded.
  std::optional<std::vector<SegmentInfo>> final_segments;
};

/// Throws kBadRecordedTrace with `file` and the line of the first mistake: an unknown line, a
/// number out of range, a free of something not allocated, a missing header.
[[nodiscard]] RecordedTrace read_recorded_trace(std::string_view text, const std::string& file);

/// The trace as a document. read_recorded_trace() gives back the same trace.
[[nodiscard]] std::string write_recorded_trace(const RecordedTrace& trace);

}  // namespace elixir::memory
