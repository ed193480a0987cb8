// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The checksum of zip archives.

#include <cstddef>
#include <cstdint>

namespace elixir {

/// Extends the CRC-32 (ISO 3309) `checksum` by `count` bytes. Start with 0.
[[nodiscard]] std::uint32_t crc32(std::uint32_t checksum, const void* bytes, std::size_t count);

}  // namespace elixir
