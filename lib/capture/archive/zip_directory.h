// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Reads the central directory of a zip file, for the checksums. LibTorch's reader does not provide
// them, and is built without checksum tests, so it would interpret damaged pickles.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace elixir::capture {

struct ZipEntry {
  std::string name;
  std::uint32_t checksum = 0;  ///< CRC-32; 0 when the writer omitted it
  std::uint64_t bytes = 0;     ///< uncompressed
  bool stored = true;          ///< not compressed
};

/// Empty when the file of `file_bytes` does not end in a well-formed directory of at most 64 MiB.
/// Finds the same directory as LibTorch's reader, so checks of these entries are valid for that
/// reader.
[[nodiscard]] std::vector<ZipEntry> read_zip_directory(int descriptor, std::uint64_t file_bytes);

}  // namespace elixir::capture
