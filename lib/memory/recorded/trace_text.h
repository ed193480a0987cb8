// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Reads and writes single lines of an allocator trace. Documents and reported differences use the
// same lines. Internal to lib/memory.

#include <array>
#include <cstdint>
#include <string>

#include "memory/allocator/caching_allocator.h"

namespace elixir::memory {

[[nodiscard]] std::string line_of(const DeviceEvent& event);
[[nodiscard]] std::string line_of(const SegmentInfo& segment);
[[nodiscard]] std::string line_of(const std::array<std::int64_t, 4>& peaks);

}  // namespace elixir::memory
