// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a process asked of LibTorch's CUDA caching allocator and what the allocator did on the
// device, recorded there, as a text document of one event a line (docs/formats/allocator-trace.md).
// `replay.h` compares the simulator with it.

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
    kAllocate,       ///< `a`: bytes, stream, perhaps the address it got
    kFree,           ///< `f`: freed, and its block back in its pool
    kFreeRequested,  ///< `q`: freed, but awaited by another stream
    kFreeCompleted,  ///< `c`: awaited no longer
    kOutOfMemory,    ///< `oom`: a request of bytes that failed
    kEmptyCache,     ///< `e`
    kDevice,         ///< `s+`, `s-`, `m+`, `m-`: what the allocator did on the device
    kPeaks,          ///< `p`: measured since the `p` before
  };
  Kind kind = Kind::kAllocate;
  int line = 0;                 ///< of the document, from 1; 0 when there is none
  std::int64_t allocation = 0;  ///< which, counted from 0: kAllocate and the frees
  std::int64_t bytes = 0;       ///< asked for: kAllocate, kOutOfMemory
  StreamId stream = 0;
  std::optional<Address> address;  ///< kAllocate
  DeviceEvent device;              ///< kDevice
  /// kPeaks: peak allocated, peak reserved, allocated, reserved bytes.
  std::array<std::int64_t, 4> peaks{};
};

struct RecordedTrace {
  AllocatorConfig config;
  std::int64_t device_bytes = 0;              ///< of the whole device
  std::int64_t capacity_bytes = 0;            ///< what the process could get of it
  std::optional<std::int64_t> allowed_bytes;  ///< memory limit of the recorded run
  std::vector<RecordedEvent> events;
  /// Segments and their blocks after the last event, by address, where they were recorded.
  std::optional<std::vector<SegmentInfo>> final_segments;
};

/// Throws kBadRecordedTrace with `file` and the line of the first mistake: unknown lines, numbers
/// out of range, frees of what is not allocated, a missing header.
[[nodiscard]] RecordedTrace read_recorded_trace(std::string_view text, const std::string& file);

/// The document; reading it gives the same trace.
[[nodiscard]] std::string write_recorded_trace(const RecordedTrace& trace);

}  // namespace elixir::memory
