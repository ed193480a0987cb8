// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Single lines of an allocator trace, as documents and reported differences show them. Internal to
// lib/memory.

#include <array>
#include <cstdint>
#include <string>

#include "memory/allocator/caching_allocator.h"

namespace elixir::memory {

[[nodiscard]] std::string line_of(const DeviceEvent& event);
[[nodiscard]] std::string line_of(const SegmentInfo& segment);
[[nodiscard]] std::string line_of(const std::array<std::int64_t, 4>& peaks);

}  // namespace elixir::memory
